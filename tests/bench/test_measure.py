from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.measure import Cases, Measured
from assay.bench.unit import Answer
from assay.core.stats import auc
from assay.core.types import FailureKind


def cases(rows: Sequence[Mapping[str, float]]) -> Cases:
    return Cases.of([Measured(case=str(i), subset="s", values=values) for i, values in enumerate(rows)])


def test_sums_means_and_ratios() -> None:
    found = cases([{"right": 1.0, "pairs": 2.0}, {"right": 0.0, "pairs": 1.0}, {"right": 1.0, "pairs": 2.0}])
    assert (found.count, len(found.weights)) == (3, 2)
    assert found.mean("right") == pytest.approx(2 / 3)
    assert found.ratio("right", "pairs") == pytest.approx(2 / 5)


def test_a_component_that_a_case_lacks_is_no_part_of_its_mean() -> None:
    found = cases([{"a": 1.0, "b": math.nan}, {"a": 0.0, "b": math.nan}])
    assert found.mean("a") == 0.5
    assert found.mean("b") is None


def test_cases_with_other_components_are_refused() -> None:
    with pytest.raises(ValueError, match="components"):
        cases([{"a": 1.0}, {"b": 1.0}])
    with pytest.raises(ValueError, match="no case"):
        Cases.of([])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_the_area_is_that_of_the_plain_statistic_in_any_order(rows: list[tuple[int, bool]]) -> None:
    found = cases([{"score": float(s), "label": float(y)} for s, y in rows])
    turned = cases([{"score": float(s), "label": float(y)} for s, y in reversed(rows)])
    plain = auc([s for s, y in rows if y], [s for s, y in rows if not y])
    assert found.auc("score", "label") == (None if plain is None else pytest.approx(plain))
    assert found.auc("score", "label") == turned.auc("score", "label")


@pytest.mark.parametrize("rows", [3, 1000])
def test_resamples_are_as_large_and_keep_the_mean_on_average(rows: int) -> None:
    found = cases([{"x": float(i)} for i in range(rows)])
    generator = np.random.default_rng(0)
    drawn = [found.resampled(generator) for _ in range(300)]
    assert {one.count for one in drawn} == {rows}
    means = np.array([one.mean("x") for one in drawn], dtype=np.float64)
    deviation = np.std(np.arange(rows)) / math.sqrt(rows)
    assert np.mean(means) == pytest.approx((rows - 1) / 2, abs=float(5 * deviation) / math.sqrt(300))
    assert np.std(means) == pytest.approx(deviation, rel=0.25)


def test_an_answer_says_exactly_one_thing() -> None:
    assert Answer(choice=1).choice == 1
    several: tuple[dict[str, Any], ...] = (
        {},
        {"scores": (1.0,), "choice": 0},
        {"choice": 0, "failure": FailureKind.TIMEOUT},
    )
    for wrong in several:
        with pytest.raises(ValueError, match="exactly one"):
            Answer(**wrong)
    with pytest.raises(ValueError, match="finite"):
        Answer(scores=(1.0, math.nan))
