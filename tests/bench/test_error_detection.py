"""Precision, recall and F1 of finding errors, on six responses worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from assay.bench.aggregate import aggregate
from assay.bench.benchmarks.error_detection import BY_CLASS, DETECTION
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting
from assay.bench.unit import Answer, Judged
from assay.core.types import FailureKind

from .shared import score, scored, units

BENCHMARK = BENCHMARKS["realmistake"]
MATH, FACTS = "math_word_problem_generation/gpt-4-0613", "finegrained_fact_verification/gpt-4-0613"
REASONING, FOLLOWING = "Reasoning Correctness", "Instruction-Following"
HALF = Counting(threshold=0.5)


def row(name: str, classes: list[str], task: str = "math_word_problem_generation") -> dict[str, Any]:
    return {"input": f"q{name}", "llm_response": "a", "error_label": "error" if classes else "no_error",
            "error_categories": classes,
            "metadata": {"id": name, "task_name": task, "llm_response_model": "gpt-4-0613"}}  # fmt: skip


def six() -> list[Judged]:
    """Math: caught, missed, caught, one false alarm of two good ones. Facts: one error, missed."""
    rows = [row("1", [REASONING]), row("2", [REASONING, FOLLOWING]), row("3", [FOLLOWING]), row("4", []), row("5", []),
            row("6", [REASONING], "finegrained_fact_verification")]  # fmt: skip
    made = units(BENCHMARK, rows, "data/x.jsonl")
    return [scored(unit, value) for unit, value in zip(made, (0.1, 0.9, 0.4, 0.2, 0.5, 0.7), strict=True)]


def test_error_is_the_positive_class() -> None:
    found = score(BENCHMARK, six(), HALF).flat()
    # Said: 1, 3 and 4; right of these: two of three. Errors: three, two caught. A score at the threshold is good.
    values = [found[f"{DETECTION}/{MATH}/{name}"] for name in ("accuracy", "precision", "recall", "F1")]
    assert values == pytest.approx([60, 200 / 3, 200 / 3, 200 / 3])
    assert [found[f"{DETECTION}/{FACTS}/{name}"] for name in ("accuracy", "precision", "recall", "F1")] == [0, 0, 0, 0]
    assert found[f"{DETECTION}/mean of tasks, gpt-4-0613/F1"] == pytest.approx(100 / 3)
    assert found[f"{DETECTION}/all files together/recall"] == 50
    assert found[f"{BY_CLASS}/{MATH}/{REASONING}"] == 50
    assert found[f"{BY_CLASS}/{MATH}/{FOLLOWING}"] == 50
    assert found[f"{BY_CLASS}/all files together/{REASONING}"] == pytest.approx(100 / 3)
    assert found[f"{BY_CLASS}/{MATH}/Context-Faithfulness"] is None


def test_without_a_threshold_there_are_no_such_figures() -> None:
    found = score(BENCHMARK, six())
    assert found.tables == ()
    assert found.value is not None


def test_the_official_formulas_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, said = [1, 1, 1, 0, 0, 1], [1, 0, 1, 1, 0, 0]
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, said, average="binary", zero_division=0)
    found = score(BENCHMARK, six(), HALF).flat()
    values = [found[f"{DETECTION}/all files together/{name}"] for name in ("accuracy", "precision", "recall", "F1")]
    accuracy = metrics.accuracy_score(truth, said)
    assert values == pytest.approx([100 * one for one in (accuracy, precision, recall, f1)], abs=1e-9)


def test_a_failed_judgment_is_the_wrong_decision() -> None:
    made = units(BENCHMARK, [row("1", [REASONING]), row("2", []), row("3", [REASONING])], "data/x.jsonl")
    failed = [Judged(unit=unit, answer=Answer(failure=FailureKind.TIMEOUT)) for unit in made[:2]]
    several = [*failed, scored(made[2], 0.0)]
    found = score(BENCHMARK, several, HALF).flat()
    assert found[f"{DETECTION}/{MATH}/accuracy"] == pytest.approx(100 / 3)
    assert found[f"{DETECTION}/{MATH}/precision"] == 50
    without = score(BENCHMARK, several, HALF.model_copy(update={"failures": "excluded"})).flat()
    assert without[f"{DETECTION}/{MATH}/recall"] == 100


def test_every_figure_has_an_interval() -> None:
    found = aggregate(BENCHMARK, six(), HALF, draws=50)
    assert f"{DETECTION}/{MATH}/F1" in found.intervals
    low, high = (getattr(found.intervals[f"{DETECTION}/{MATH}/recall"], name) for name in ("low", "high"))
    assert 0 <= low <= high <= 100


def test_a_file_without_an_error_has_no_recall() -> None:
    (unit,) = units(BENCHMARK, [row("4", [])], "data/x.jsonl")
    found = score(BENCHMARK, [scored(unit, 0.2)], HALF).flat()
    values = [found[f"{DETECTION}/{MATH}/{name}"] for name in ("accuracy", "precision", "recall", "F1")]
    assert values == [0, 0, None, None]
