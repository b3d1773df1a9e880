from __future__ import annotations

import pytest

from assay.bench.aggregate import aggregate
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting
from assay.bench.unit import Judged
from assay.core.errors import InputError

from .shared import scored, units

PAIRS = BENCHMARKS["pairs"]


def judged(n: int, right: int, subset: str = "s") -> list[Judged]:
    rows = [
        {"id": f"{subset}{i}", "prompt": f"q{i}", "chosen": "a", "rejected": "b", "subset": subset} for i in range(n)
    ]
    return [scored(unit, place < right, 0.5) for place, unit in enumerate(units(PAIRS, rows))]


def test_the_interval_is_as_wide_as_the_binomial_one() -> None:
    found = aggregate(PAIRS, judged(400, 300), Counting(), draws=2000)
    assert found.score.value == 75
    interval = found.intervals[""]
    # 1.96 * sqrt(0.75 * 0.25 / 400) = 4.24 points.
    assert interval.low == pytest.approx(75 - 4.24, abs=0.5)
    assert interval.high == pytest.approx(75 + 4.24, abs=0.5)


def test_the_order_of_answers_changes_nothing() -> None:
    both = judged(40, 31) + judged(30, 5, "t")
    assert aggregate(PAIRS, both, Counting()) == aggregate(PAIRS, both[::-1], Counting())


def test_the_seed_fixes_the_intervals_of_a_subset_whatever_others_there_are() -> None:
    alone, together = judged(50, 31), judged(50, 31) + judged(30, 5, "t")
    one, both = (aggregate(PAIRS, several, Counting(), draws=50) for several in (alone, together))
    assert one.intervals["s"] == both.intervals["s"]
    assert aggregate(PAIRS, alone, Counting(), draws=50, seed=1).intervals["s"] != one.intervals["s"]


def test_a_judge_without_errors_has_no_width() -> None:
    found = aggregate(PAIRS, judged(9, 9), Counting(), draws=20)
    assert (found.intervals[""].low, found.intervals[""].high) == (100, 100)


def test_one_draw_is_no_bootstrap() -> None:
    with pytest.raises(InputError, match="at least 2 draws"):
        aggregate(PAIRS, judged(2, 1), Counting(), draws=1)
    assert aggregate(PAIRS, judged(2, 1), Counting(), draws=0).intervals == {}
