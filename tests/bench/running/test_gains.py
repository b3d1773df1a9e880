"""Series compared over the same resamples, with figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.bench.catalog import find_benchmark
from assay.bench.measure import Measured
from assay.bench.running.gains import compare

PAIRS = find_benchmark("pairs")


def cases(*worth: float, subset: str = "s") -> list[Measured]:
    return [Measured(case=str(i), subset=subset, values={"right": value}) for i, value in enumerate(worth)]


def test_a_constant_gain_has_no_width() -> None:
    """The second series is right wherever the first is, and on one more case that is drawn at random: the gain is the
    share of that case in the resample, never below 0."""
    worse, better = cases(*[1, 0, 0, 0] * 25), cases(*[1, 1, 0, 0] * 25)
    found = compare(PAIRS, {"a": worse, "b": better}, draws=400)
    assert (found.scores["a"], found.scores["b"]) == (25.0, 50.0)
    gain = found.gain("b", "a")
    assert gain is not None
    assert gain.value == 25.0
    assert gain.interval is not None
    # Binomial: 25 % of 100 cases, standard deviation 4.33 points; the single scores alone would give 6.6.
    assert gain.interval.low == pytest.approx(25 - 1.96 * 4.33, abs=1.5)
    assert gain.interval.high == pytest.approx(25 + 1.96 * 4.33, abs=1.5)
    draws = np.array(found.draws["b"]) - np.array(found.draws["a"])
    assert (draws > 0).all()
    same = compare(PAIRS, {"a": worse, "b": worse}, draws=50).gain("b", "a")
    assert same is not None
    assert same.interval is not None
    assert (same.value, same.interval.low, same.interval.high) == (0.0, 0.0, 0.0)


def test_only_common_cases_are_compared() -> None:
    found = compare(PAIRS, {"a": cases(1, 0, 0), "b": cases(1, 1)}, draws=0)
    assert found.left_out == 1
    assert found.scores == {"a": 50.0, "b": 100.0}
    assert found.interval("a") is None
    nothing = compare(PAIRS, {"a": cases(1), "b": cases(1, subset="t")}, draws=3)
    assert nothing.left_out == 2
    assert nothing.gain("a", "b") is None


def test_the_order_of_series_and_cases_changes_nothing() -> None:
    one, other = cases(1, 0, 1, 0, 0), cases(0, 0, 1, 1, 0)
    found = compare(PAIRS, {"a": one, "b": other}, draws=30, seed=3)
    turned = compare(PAIRS, {"a": one[::-1], "b": other[::-1]}, draws=30, seed=3)
    assert found.draws == turned.draws
