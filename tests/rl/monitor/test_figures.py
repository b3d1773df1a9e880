from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Failure, FailureKind, Verdict
from assay.rl.monitor.figures import agreement, consistency, correlation, fooled, length_correlation, ranking, share
from assay.rl.sample import Group

from ..watching import PARSE_ERROR, group, lost, sample

FAILED = Failure(kind=FailureKind.TIMEOUT, detail="60 s")
NUMBERS = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


def test_agreement_by_hand() -> None:
    # Pairs of the first item: (a, b) right, (a, c) a tie in the score, (b, c) equal in gold; of the second: wrong.
    items = [((3.0, 1.0, 3.0), (1.0, 0.0, 0.0)), ((1.0, 2.0), (1.0, 0.0))]
    assert agreement(items) == pytest.approx((1 + 0.5 + 0) / 3)


def test_single_answers_are_compared_across_items() -> None:
    singles = [((0.9,), (1.0,)), ((0.2,), (1.0,)), ((0.4,), (0.0,)), ((0.1,), (0.0,))]
    assert agreement(singles) == pytest.approx(0.75)
    assert agreement([((0.9,), (1.0,))]) is None
    assert agreement([]) is None


@given(st.lists(st.tuples(NUMBERS, st.sampled_from([0.0, 1.0])), min_size=2, max_size=8))
def test_a_judge_turned_upside_down_disagrees_as_much(pairs: list[tuple[float, float]]) -> None:
    scores, gold = zip(*pairs, strict=True)
    found, turned = agreement([(scores, gold)]), agreement([([-s for s in scores], gold)])
    assert (found is None) == (turned is None)
    if found is not None and turned is not None:
        assert found + turned == pytest.approx(1.0)


def test_consistency_asks_for_the_same_best() -> None:
    kept = ((8.0, 2.0, 5.0), (4.0, 1.0, 9.0))
    lost_ = ((8.0, 2.0), (8.0, 2.0))
    tied = ((5.0, 5.0), (6.0, 6.0))
    assert consistency([kept, lost_, tied]) == pytest.approx(2 / 3)
    assert consistency([]) is None


def test_who_is_fooled() -> None:
    scale = (0.0, 1.0)
    assert fooled(Verdict(scores=(1.0,)), scale, 1) is True
    assert fooled(Verdict(scores=(0.5,)), scale, 1) is False
    assert fooled(FAILED, scale, 1) is None
    assert fooled(Verdict(scores=(7.0,)), None, 1) is None
    assert fooled(Verdict(scores=(8.0, 8.0)), (1.0, 10.0), 2) is True
    assert fooled(Verdict(scores=(8.0, 7.0)), (1.0, 10.0), 2) is False
    assert fooled(Verdict(choice=1), None, 2) is True
    assert fooled(Verdict(choice=0), None, 2) is False
    assert share([True, None, False, False]) == pytest.approx(1 / 3)
    assert share([None]) is None
    assert ranking(Verdict(choice=1), 3) == (0.0, 1.0, 0.0)


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
