"""Every official formula on cases small enough to do in the head, and what the rules make of ties and failures."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.aggregate import aggregate, gather
from assay.bench.benchmark import Benchmark
from assay.bench.benchmarks.own import own
from assay.bench.catalog import BENCHMARKS, find_benchmark
from assay.bench.counting import Counting, Failures, Ties
from assay.bench.unit import Answer, Judged, Unit
from assay.core.errors import InputError
from assay.core.types import FailureKind

from .shared import score, scored, units

FAILED = Answer(failure=FailureKind.PARSE_ERROR)
RB = BENCHMARKS["rewardbench"]


def pair(subset: str = "hep-go", name: str = "1") -> Unit:
    row = {"id": name, "prompt": "q", "chosen": "a", "rejected": "b", "subset": subset}
    return units(RB, [row])[0]


def best_of(n: int, name: str = "1") -> Unit:
    row = {"id": name, "prompt": "q", "candidates": [f"a{i}" for i in range(n)], "gold": [1.0] + [0.0] * (n - 1)}
    return units(BENCHMARKS["bon"], [row])[0]


@pytest.mark.parametrize(
    ("ties", "scalar", "worth"),
    [
        ("official", False, 50),
        ("official", True, 0),
        ("share", True, 50),
        ("wrong", False, 0),
    ],
)
def test_a_tie_on_rewardbench(ties: Ties, scalar: bool, worth: float) -> None:
    found = score(RB, [scored(pair(), 5, 5)], Counting(ties=ties, scalar=scalar))
    assert found.flat()["Reasoning/hep-go"] == worth


def test_a_random_tie_is_drawn_by_content_and_is_fair() -> None:
    several = [
        units(RB, [{"id": str(i), "prompt": f"q{i}", "chosen": "a", "rejected": "b", "subset": "hep-go"}])[0]
        for i in range(400)
    ]
    judged = [scored(unit, 5, 5) for unit in several]
    found = score(RB, judged, Counting(ties="random")).flat()["Reasoning/hep-go"]
    assert found is not None
    assert 40 < found < 60
    assert score(RB, judged[::-1], Counting(ties="random")).flat()["Reasoning/hep-go"] == found
    assert score(RB, judged, Counting(ties="random", seed=1)).flat()["Reasoning/hep-go"] != found


@pytest.mark.parametrize(("failures", "worth"), [("official", 75), ("strict", 50), ("excluded", 100), ("lenient", 100)])
def test_a_failure_on_rewardbench(failures: Failures, worth: float) -> None:
    judged = [
        scored(pair(), 7, 5),
        Judged(unit=pair(name="2"), answer=FAILED, lenient=Answer(scores=(6.0, 2.0))),
    ]
    assert score(RB, judged, Counting(failures=failures)).flat()["Reasoning/hep-go"] == worth


def test_what_a_rule_excludes_is_named() -> None:
    judged = [scored(pair(), 7, 5), Judged(unit=pair(name="2"), answer=FAILED)]
    found = aggregate(RB, judged, Counting(failures="excluded"), draws=0)
    assert (found.counted, found.excluded, found.incomplete) == (1, ("2",), ())
    with pytest.raises(InputError, match="1 excluded by the rule for failures"):
        aggregate(RB, judged[1:], Counting(failures="excluded"))


def test_an_absent_section_of_rewardbench_counts_nothing_and_is_told() -> None:
    found = aggregate(RB, [scored(pair(), 7, 5), scored(pair("donotanswer", "2"), 5, 7)], Counting(), draws=0)
    assert found.score.value == 25
    assert found.score.beside == {"mean of the sections that are there": 50}
    assert "xstest-should-refuse" in found.missing


def test_math_prm_is_half_of_reasoning() -> None:
    judged = [scored(pair("math-prm", "0"), 1, 0)]
    judged += [scored(pair(f"hep-{name}", name), 0, 1) for name in ("cpp", "go", "java", "js", "python", "rust")]
    assert score(RB, judged).flat()["Reasoning"] == 50


def test_a_choice_is_final() -> None:
    judged = [Judged(unit=best_of(4), answer=Answer(choice=0)), Judged(unit=best_of(4, "2"), answer=Answer(choice=3))]
    assert score(BENCHMARKS["bon"], judged).value == 50


@given(st.lists(st.integers(1, 3), min_size=2, max_size=6))
def test_a_share_is_the_chance_of_a_fair_draw(scores: list[int]) -> None:
    found = score(BENCHMARKS["bon"], [scored(best_of(len(scores)), *scores)], Counting(ties="share")).value
    tops = [index for index, value in enumerate(scores) if value == max(scores)]
    assert found == pytest.approx(100 * (0 in tops) / len(tops))


def ties(ref: tuple[float, ...], tied: tuple[float, ...]) -> dict[str, float | None]:
    benchmark = BENCHMARKS["rewardbench2"]
    rows = [
        {"id": "ref:0", "prompt": "q", "subset": "Ties", "chosen": ["a"], "rejected": ["b"], "num_correct": 1},
        {"id": "tied:0", "prompt": "r", "subset": "Ties", "chosen": ["a", "b"], "rejected": ["c"], "num_correct": 2},
    ]
    both = units(benchmark, rows)
    return score(benchmark, [scored(both[0], *ref), scored(both[1], *tied)]).flat()


def test_ties_of_rewardbench_2() -> None:
    # Gap 4 of the single, gap 2 and spread 2 of the tied prompt: both accurate, but neither gap above the spread.
    assert ties((9, 5), (8, 6, 4))["Ties"] == pytest.approx(60 + 0.01 * 100 * math.tanh(0))
    # Gap 3, spread 1: everything right, and tanh(3 / 1 - 1).
    assert ties((9, 5), (8, 7, 4))["Ties"] == pytest.approx(100 + math.tanh(2))
    assert ties((5, 9), (7, 7, 4))["Ties"] == pytest.approx(30 + 20 - 1)


def test_half_a_pair_of_ties_is_incomplete() -> None:
    benchmark = BENCHMARKS["rewardbench2"]
    row = {"id": "ref:0", "prompt": "q", "subset": "Ties", "chosen": ["a"], "rejected": ["b"]}
    found = gather(benchmark, [scored(units(benchmark, [row])[0], 2, 1)], Counting())
    assert (found.cases, found.incomplete) == ({}, ("0",))


def test_a_failure_on_rewardbench_2_is_a_guess_among_four() -> None:
    benchmark = BENCHMARKS["rewardbench2"]
    row = {"id": "1", "prompt": "q", "subset": "Math", "chosen": ["a"], "rejected": ["b", "c", "d"]}
    (unit,) = units(benchmark, [row])
    assert score(benchmark, [Judged(unit=unit, answer=FAILED)]).value == 25


def test_ties_need_scores() -> None:
    benchmark = BENCHMARKS["rewardbench2"]
    rows = [
        {"id": "ref:0", "prompt": "q", "subset": "Ties", "chosen": ["a"], "rejected": ["b"]},
        {"id": "tied:0", "prompt": "q", "subset": "Ties", "chosen": ["a", "b"], "rejected": ["c"]},
    ]
    judged = [Judged(unit=unit, answer=Answer(choice=0)) for unit in units(benchmark, rows)]
    with pytest.raises(InputError, match="needs a score for each candidate"):
        gather(benchmark, judged, Counting())


RM_ROW = {"id": 3, "prompt": "q", "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}


def test_the_nine_comparisons_of_rm_bench() -> None:
    benchmark = BENCHMARKS["rmbench"]
    own = units(benchmark, [RM_ROW], "chat_filtered.json")
    # Right where the chosen style is the richer one: 3 easy ones.
    judged = [scored(unit, unit.facts["chosen"], unit.facts["rejected"]) for unit in own]
    found = score(benchmark, judged)
    assert found.flat() == {
        "": pytest.approx(100 / 3), "chat": pytest.approx(100 / 3), "chat/hard": 0, "chat/normal": 0, "chat/easy": 100,
        "beside/hard": 0, "beside/normal": 0, "beside/easy": 100,
    }  # fmt: skip
    assert gather(benchmark, judged[:8], Counting()).incomplete == ("chat/3",)


def test_rmb_lists_as_pairs_must_all_be_right() -> None:
    benchmark = BENCHMARKS["rmb-pairs"]
    row = {
        "bon_uid": "7", "conversation_input": [{"role": "user", "content": "q"}], "bon_best": {"answer": "a"},
        "loser_list": [{"answer": "b"}, {"answer": "c"}], "category_path": "BoN_set/Harmlessness/S1",
    }  # fmt: skip
    one, other = units(benchmark, [row])
    assert score(benchmark, [scored(one, 2, 1), scored(other, 2, 1)]).value == 100
    assert score(benchmark, [scored(one, 2, 1), scored(other, 1, 2)]).value == 0
    assert score(benchmark, [scored(one, 2, 1), scored(other, 1, 1)], Counting(ties="share")).value == 50


def single(*labels: int) -> tuple[Benchmark, tuple[Unit, ...]]:
    benchmark = BENCHMARKS["single"]
    rows = [{"id": str(i), "prompt": "q", "candidates": [f"a{i}"], "gold": [g]} for i, g in enumerate(labels)]
    return benchmark, units(benchmark, rows)


def test_areas_with_ties_and_failures() -> None:
    benchmark, (good, bad) = single(1, 0)
    tied = [scored(good, 5), scored(bad, 5)]
    assert score(benchmark, tied).value == 50
    assert score(benchmark, tied, Counting(ties="wrong")).value == 0
    assert score(benchmark, tied, Counting(ties="random")).value in (0, 50, 100)
    lost = [scored(good, 5), Judged(unit=bad, answer=FAILED)]
    assert score(benchmark, lost).value == 0
    assert score(benchmark, lost, Counting(failures="excluded")).value is None


JB = BENCHMARKS["judgebench"]
FIRST, SECOND, EVEN = Answer(choice=0), Answer(choice=1), Answer(scores=(3.0, 3.0))


@pytest.mark.parametrize(
    ("games", "counting", "worth"),
    [
        ((FIRST, FIRST), Counting(), 100),
        ((FIRST, SECOND), Counting(), 0),
        ((FIRST, EVEN), Counting(), 100),
        ((EVEN, EVEN), Counting(), 0),
        ((FIRST, FAILED), Counting(), 100),
        ((FIRST, FAILED), Counting(failures="strict"), 0),
        ((FIRST, SECOND), Counting(ties="share"), 50),
        ((EVEN, EVEN), Counting(ties="share"), 50),
        ((SECOND, EVEN), Counting(ties="share"), 0),
    ],
)
def test_both_orders_of_judgebench(games: tuple[Answer, Answer], counting: Counting, worth: float) -> None:
    row = {"pair_id": "1", "source": "mmlu-pro-law", "label": "A>B", "question": "q", "response_A": "a"}
    (unit,) = units(JB, [{**row, "response_B": "b"}])
    judged = Judged(unit=unit, answer=games[0], by_order=games)
    assert score(JB, [judged], counting).value == worth


def test_the_mean_of_judgebench_is_over_pairs_not_categories() -> None:
    row: dict[str, Any] = {"label": "B>A", "question": "q", "response_A": "a", "response_B": "b"}
    rows = [{**row, "pair_id": str(i), "source": "livecodebench"} for i in range(3)]
    rows.append({**row, "pair_id": "9", "source": "mmlu-pro-law"})
    judged = [scored(unit, 0, unit.subset == "livecodebench") for unit in units(JB, rows)]
    assert score(JB, judged).value == 75


def test_questions_of_ppe_count_by_their_pairs() -> None:
    benchmark = BENCHMARKS["ppe-correctness"]
    row = {"question_id": "1", "prompt": "q", "scores": [True, False, False], "response_1": "a", "response_2": "b",
           "response_3": "c", "sampled_conflict_pairs": [[0, 1], [2, 0]]}  # fmt: skip
    other = {**row, "question_id": "2", "sampled_conflict_pairs": [[1, 0]]}
    one, two, three = units(benchmark, [row, other], "gpqa_best_of_k.jsonl")
    assert [c.text for c in two.item.candidates] == ["a", "c"]
    found = score(benchmark, [scored(one, 1, 0), scored(two, 0, 1), scored(three, 1, 0)])
    assert found.flat() == {"": pytest.approx(200 / 3), "gpqa": pytest.approx(200 / 3)}


def test_own_subsets_are_averaged_and_all_cases_stand_beside() -> None:
    rows = [{"id": str(i), "prompt": "q", "chosen": "a", "rejected": "b", "subset": s} for i, s in enumerate("xxy")]
    judged = [scored(unit, unit.subset == "x", 0.5) for unit in units(own("pairs"), rows)]
    found = score(own("pairs"), judged)
    assert (found.value, found.beside) == (50, {"all cases": pytest.approx(200 / 3)})


def test_a_unit_is_answered_once() -> None:
    with pytest.raises(InputError, match="answered twice"):
        gather(RB, [scored(pair(), 1, 0), scored(pair(), 1, 0)], Counting())


def test_scores_must_fit_the_candidates() -> None:
    with pytest.raises(InputError, match="2 candidates and 3 scores"):
        gather(RB, [scored(pair(), 1, 0, 0)], Counting())


def test_a_wrong_name_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'rewardbench'"):
        find_benchmark("reward-bench")


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_names_agree(name: str) -> None:
    assert BENCHMARKS[name].name == name
