from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.rl.pass_at_k import figures, ladder, pass_at
from assay.rl.sample import Status

from .watching import PARSE_ERROR, group, lost, rewarded, sample


def test_pass_at_by_hand() -> None:
    # Of 4 answers 1 is right: 3 of the 6 pairs hold it.
    assert pass_at(2, 4, 1) == pytest.approx(0.5)
    # Of 5 answers 2 are right: of the 10 triples one, that of the three wrong ones, fails.
    assert pass_at(3, 5, 2) == pytest.approx(0.9)
    assert pass_at(1, 8, 3) == pytest.approx(3 / 8)
    assert pass_at(4, 4, 0) == 0.0
    assert pass_at(3, 4, 2) == 1.0


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_is_the_mean_over_all_choices(right: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(right)))
    every = statistics.fmean(any(some) for some in itertools.combinations(right, k))
    assert pass_at(k, len(right), sum(right)) == pytest.approx(every)


@pytest.mark.parametrize(("k", "n", "right"), [(0, 4, 1), (5, 4, 1), (1, 4, 5), (1, 0, 0)])
def test_what_is_not_defined_is_refused(k: int, n: int, right: int) -> None:
    with pytest.raises(InputError, match="pass@"):
        pass_at(k, n, right)


def test_the_k_that_are_shown() -> None:
    assert [ladder(n) for n in (1, 2, 4, 6)] == [(1,), (1, 2), (1, 2, 4), (1, 2, 4, 6)]


def test_figures_by_hand() -> None:
    found = figures([rewarded(1.0, 0.0), rewarded(0.0, 0.0, ordinal=1), rewarded(1.0, 1.0, ordinal=2)], 2, 0.5)
    assert found == {
        "prompts": 3.0,
        "answers": 6.0,
        "reward": 0.5,
        "avg@2": 0.5,
        "pass@1": 0.5,
        "pass@2": pytest.approx(2 / 3),
        "failed": 0.0,
        "response_length": 3.0,
        "truncated": 0.0,
    }


def test_failures_are_counted_and_are_in_no_other_figure() -> None:
    cut = replace(sample(0.0, index=3, length=9), status=Status.TRUNCATED)
    groups = [
        group(sample(1.0), sample(PARSE_ERROR, index=1), lost(index=2), cut),
        group(lost(1, 0), lost(1, 1), sample(PARSE_ERROR, ordinal=1, index=2), lost(1, 3)),
    ]
    found = figures(groups, 4, 0.5)
    assert found["reward"] == found["avg@4"] == found["pass@1"] == 0.5
    assert found["pass@2"] == 1.0
    assert "pass@4" not in found
    assert found["failed"] == 0.75
    assert (found["failed_parse_error"], found["failed_timeout"]) == (2.0, 4.0)
    # Of the four answers that are there, one was cut off.
    assert found["truncated"] == 0.25
    assert found["response_length"] == pytest.approx((3 * 3 + 9) / 4)


def test_where_all_fail_there_is_no_score() -> None:
    found = figures([group(lost())], 1, 0.5)
    assert found == {"prompts": 1.0, "answers": 1.0, "failed": 1.0, "failed_timeout": 1.0}
    assert figures([], 1, 0.5) == {"prompts": 0.0, "answers": 0.0}


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=4, max_size=4), min_size=1, max_size=6))
def test_pass_at_k_never_falls_with_k_and_all_is_finite(rewards: list[list[float | None]]) -> None:
    groups = [rewarded(*(PARSE_ERROR if r is None else r for r in own), ordinal=n) for n, own in enumerate(rewards)]
    found = figures(groups, 4, 0.5)
    assert all(math.isfinite(value) for value in found.values())
    if all(None not in own for own in rewards):
        assert found["pass@1"] <= found["pass@2"] <= found["pass@4"]
        assert found["pass@1"] == pytest.approx(found["avg@4"])
