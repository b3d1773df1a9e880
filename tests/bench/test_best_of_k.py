"""Best of k on two questions, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from assay.bench.benchmarks.ppe_best_of_k import BESIDE, CURVE, OF_SETS, PERFECT
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting, Ties
from assay.bench.unit import Answer, Judged
from assay.core.errors import InputError
from assay.core.types import FailureKind
from assay.data.records import Record

from .shared import score, scored, units

BENCHMARK = BENCHMARKS["ppe-best-of-k"]


def question(right: Sequence[int], name: str = "1", pairs: Sequence[Sequence[int]] = ()) -> dict[str, Any]:
    answers = {f"response_{place}": f"a{place}" for place, _ in enumerate(right, 1)}
    return {"question_id": name, "prompt": f"q{name}", "scores": [bool(one) for one in right], **answers,
            "sampled_conflict_pairs": [list(pair) for pair in pairs], "model_name": "writer"}  # fmt: skip


def judged(file: str, right: Sequence[int], scores: Sequence[float], **of: Any) -> Judged:
    return scored(units(BENCHMARK, [question(right, **of)], file)[0], *scores)


def test_the_curve_and_what_stands_beside_it() -> None:
    """math takes a0 (wrong), a1 (right), a1, a3 (wrong); the best there is, is right from k = 2 on.

    gpqa takes a0 (right) at 1, then a1 (wrong) for good.
    """
    found = score(BENCHMARK, [
        judged("math_best_of_k.parquet", [0, 1, 1, 0], [1, 5, 2, 9], pairs=[[1, 0], [3, 2]]),
        judged("gpqa_best_of_k.parquet", [1, 0, 0, 0], [3, 4, 1, 2], pairs=[[0, 1], [2, 0]]),
    ]).flat()  # fmt: skip
    assert [found[f"{CURVE}/math/k = {k}"] for k in (1, 2, 4)] == [0, 100, 0]
    assert [found[f"{CURVE}/gpqa/k = {k}"] for k in (1, 2, 4)] == [100, 0, 0]
    assert [found[f"{CURVE}/{OF_SETS}/k = {k}"] for k in (1, 2, 4)] == [50, 50, 0]
    assert [found[f"{CURVE}/{PERFECT}/k = {k}"] for k in (1, 2, 4)] == [50, 100, 100]
    assert (found[""], found["math"], found["gpqa"]) == (0, 0, 0)
    # math: (0-0)², (1-1)², (1-1)², (1-0)² over four; gpqa: 0, 1, 1, 1 over four.
    assert (found[f"{BESIDE}/math/error"], found[f"{BESIDE}/gpqa/error"]) == (25, 75)
    assert (found[f"{BESIDE}/math/max"], found[f"{BESIDE}/{OF_SETS}/max"]) == (100, 100)
    # math: right ones 5 and 2 against 1 and 9: two of four pairs; gpqa: 3 against 4, 1 and 2: two of three.
    assert found[f"{BESIDE}/math/area"] == 50
    assert found[f"{BESIDE}/gpqa/area"] == pytest.approx(200 / 3)
    # 5 > 1 but 2 < 9; 3 < 4 but 3 > 1.
    assert (found[f"{BESIDE}/math/pairs"], found[f"{BESIDE}/gpqa/pairs"]) == (50, 50)


@pytest.mark.parametrize(
    ("ties", "at"), [("official", [100, 100, 100]), ("share", [100, 50, 50]), ("wrong", [100, 0, 0])]
)
def test_the_first_of_several_highest_is_taken_unless_said(ties: Ties, at: list[float]) -> None:
    one = judged("ifeval_best_of_k.parquet", [1, 0, 1, 0], [2, 2, 2, 2])
    found = score(BENCHMARK, [one], Counting(ties=ties)).flat()
    assert [found[f"{CURVE}/ifeval/k = {k}"] for k in (1, 2, 4)] == at


def test_a_failed_judgment_takes_nothing_and_questions_may_have_fewer_responses() -> None:
    one = judged("math_best_of_k.parquet", [1, 1], [2, 1], name="1")
    other = units(BENCHMARK, [question([0, 1, 1, 1], name="2")], "math_best_of_k.parquet")[0]
    failed = Judged(unit=other, answer=Answer(failure=FailureKind.TIMEOUT))
    found = score(BENCHMARK, [one, failed]).flat()
    # At 4 only the second question has so many.
    assert [found[f"{CURVE}/math/k = {k}"] for k in (1, 2, 4)] == [50, 50, 0]
    # All right: no area, so that the failed question's 0 stands alone.
    assert found[f"{BESIDE}/math/area"] == 0
    assert score(BENCHMARK, [one, failed], Counting(failures="excluded")).flat()[f"{CURVE}/math/k = 2"] == 100


def test_what_is_no_question_is_refused_and_a_choice_is_no_score() -> None:
    many = question([1] * 33)
    read = BENCHMARK.units([Record(line=1, row=question([1])), Record(line=2, row=many)], "math_best_of_k")
    assert ["2 to 32 responses" in bad.reason for bad in read.bad] == [True, True]
    unit = units(BENCHMARK, [question([1, 0])], "math_best_of_k.parquet")[0]
    assert {candidate.author for candidate in unit.item.candidates} == {"writer"}
    with pytest.raises(InputError, match="needs a score for each candidate"):
        score(BENCHMARK, [Judged(unit=unit, answer=Answer(choice=0))])
