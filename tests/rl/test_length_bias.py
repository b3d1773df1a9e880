from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rl.length_bias import correlation, length_correlation
from assay.rl.sample import Group

from .watching import PARSE_ERROR, group, lost, sample

NUMBERS = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


def test_correlation_by_hand() -> None:
    assert correlation([(1, 2), (2, 4), (3, 6)]) == pytest.approx(1.0)
    assert correlation([(1, 3), (2, 2), (3, 1)]) == pytest.approx(-1.0)
    # x = 1..4, y = 1, 3, 2, 4: covariance 4, both sums of squares 5.
    assert correlation([(1, 1), (2, 3), (3, 2), (4, 4)]) == pytest.approx(0.8)
    assert correlation([(1, 1), (2, 2)]) is None
    assert correlation([(1, 1), (2, 1), (3, 1)]) is None


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=20))
def test_correlation_is_that_of_the_library(pairs: list[tuple[float, float]]) -> None:
    xs, ys = zip(*pairs, strict=True)
    found = correlation(pairs)
    if len(set(xs)) == 1 or len(set(ys)) == 1:
        assert found is None
    elif found is not None:
        assert found == pytest.approx(statistics.correlation(xs, ys), abs=1e-6)
        assert -1.0 <= found <= 1.0
        assert correlation([(y, x) for x, y in pairs]) == pytest.approx(found)


def test_length_is_compared_within_groups() -> None:
    # A hard prompt with long answers and an easy one with short ones: within each, length says nothing.
    hard = group(sample(0.0, length=100), sample(1.0, index=1, length=100), sample(0.0, index=2, length=100))
    easy = group(sample(1.0, ordinal=1, length=10), sample(1.0, ordinal=1, index=1, length=10))
    assert length_correlation([hard, easy]) is None
    long_wins = group(sample(0.0, length=10), sample(1.0, index=1, length=20))
    assert length_correlation([long_wins, hard, long_wins]) == pytest.approx(
        # Distances (-5, -.5), (5, .5) twice, and (0, -1/3), (0, 2/3), (0, -1/3).
        10 / math.sqrt(100 * (1 + 6 / 9))
    )


def test_answers_without_a_reward_are_in_no_correlation() -> None:
    groups: list[Group] = [
        group(sample(0.0, length=1), sample(1.0, index=1, length=3), sample(PARSE_ERROR, index=2, length=900)),
        group(sample(0.0, ordinal=1, length=1), sample(1.0, ordinal=1, index=1, length=3), lost(1, 2)),
    ]
    assert length_correlation(groups) == pytest.approx(1.0)
    unjudged = replace(groups[0].samples[0], reward=None)
    assert length_correlation([group(unjudged, *groups[0].samples[1:])]) is None
