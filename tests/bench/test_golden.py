"""Official formulas against golden values, which were computed apart from this code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from assay.bench.benchmarks import rewardbench
from assay.bench.catalog import BENCHMARKS
from assay.bench.counting import Counting
from assay.bench.measure import Cases
from assay.bench.unit import Answer, Judged
from assay.core.types import FailureKind

from .shared import DATA, EXACT, golden, needs_shared, score, scored, units

pytestmark = needs_shared


def exactly(value: float) -> Any:
    return pytest.approx(value, abs=EXACT)


def accuracies(metrics: dict[str, float]) -> dict[str, Cases]:
    return {name: Cases(columns={"right": np.array([value])}, weights=np.array([1])) for name, value in metrics.items()}


def test_rewardbench_counts_and_sections() -> None:
    told = golden("rewardbench")
    assert told["example_counts"] == rewardbench.COUNTS
    assert {name: list(own) for name, own in rewardbench.SECTIONS.items()} == told["subset_mapping"]
    for case in told["v1"]:
        found = rewardbench.combine(accuracies(case["metrics"]))
        flat = found.flat()
        for section, value in case.get("sections", {"Reasoning": case.get("Reasoning")}).items():
            assert (flat[section] or 0.0) == exactly(100 * value)
        if "mean4" in case:
            assert found.value == exactly(100 * case["mean4"])


def test_rewardbench_2_ties() -> None:
    benchmark = BENCHMARKS["rewardbench2"]
    for case in golden("rewardbench")["v2_ties"]:
        judged: list[Judged] = []
        for row in case["rows"]:
            right, n = row["num_correct"], len(row["scores"])
            made = {
                "id": row["id"], "prompt": "q", "subset": "Ties", "num_correct": right,
                "chosen": [f"r{i}" for i in range(right)], "rejected": [f"w{i}" for i in range(n - right)],
            }  # fmt: skip
            judged.append(scored(units(benchmark, [made])[0], *row["scores"]))
        assert score(benchmark, judged).flat()["Ties"] == exactly(100 * case["overall"]), case["name"]


def test_rewardbench_2_best_of_four() -> None:
    benchmark = BENCHMARKS["rewardbench2"]
    row = {"id": "1", "prompt": "q", "subset": "Math", "chosen": ["a"], "rejected": ["b", "c", "d"]}
    for case in golden("rewardbench")["v2_best_of_4"]:
        (unit,) = units(benchmark, [row])
        assert score(benchmark, [scored(unit, *case["scores"])]).value == exactly(100 * case["result"])


def test_rmb() -> None:
    told = golden("rmb")
    rows = [
        {
            "bon_uid": bon["id"], "conversation_input": [{"role": "user", "content": "q"}],
            "bon_best": {"llm_name": "m", "answer": "best"}, "category_path": "BoN_set/Helpfulness/Chat",
            "loser_list": [{"llm_name": "m", "answer": f"l{i}"} for i in range(len(bon["losers"]))],
        }
        for bon in told["bon"]
    ]  # fmt: skip
    listed, paired = BENCHMARKS["rmb"], BENCHMARKS["rmb-pairs"]
    whole = units(listed, rows)
    judged = [scored(unit, bon["best"], *bon["losers"]) for unit, bon in zip(whole, told["bon"], strict=True)]
    assert score(listed, judged).value == exactly(100 * told["bon_accuracy"])
    assert [score(listed, [one]).value for one in judged] == [100 * v for v in told["per_item_all_pairs_strict"]]
    shared = [score(listed, [one], Counting(ties="share")).value for one in judged]
    assert shared == [100 * v for v in told["bon_list_argmax_random_tie_expected"]]
    losers = [(bon["best"], loser) for bon in told["bon"] for loser in bon["losers"]]
    pairs = [scored(unit, *both) for unit, both in zip(units(paired, rows), losers, strict=True)]
    assert score(paired, pairs).value == exactly(100 * told["bon_accuracy"])
    assert len(pairs) == told["pairwise_over_same"]["pairs"]
    assert sum(best > loser for best, loser in losers) == told["pairwise_over_same"]["correct"]
    groups = {name: value / 100 for name, value in told["overall_example"].items() if "_" in name}
    assert listed.combine(accuracies(groups)).value == exactly(told["overall_example"]["overall"])


def test_realmistake() -> None:
    told, benchmark = golden("realmistake"), BENCHMARKS["realmistake"]

    def rows(labels: list[Any], task: str, model: str) -> list[dict[str, Any]]:
        return [
            {"input": "q", "llm_response": "a", "error_label": "no_error" if label in (1, "no_error") else "error",
             "metadata": {"id": f"{task}{model}{i}", "task_name": task, "llm_response_model": model}}
            for i, label in enumerate(labels)
        ]  # fmt: skip

    own = told["single"]
    made = units(benchmark, rows(own["labels"], "math_problem_generation", "gpt-4-0613"))
    assert score(benchmark, [scored(u, s) for u, s in zip(made, own["scores"], strict=True)]).value == exactly(93.75)
    assert score(benchmark, [scored(u, -s) for u, s in zip(made, own["scores"], strict=True)]).value == exactly(6.25)
    assert score(benchmark, [scored(u, 5) for u in made]).value == 100 * told["constant_scores_auc"]
    judged: list[Judged] = []
    tasks = {"math/gpt4": "math_problem_generation", "fgfv/gpt4": "finegrained_fact_verification"}
    for name, values in told["subsets"]["data"].items():
        made = units(benchmark, rows(values["is_ok"], tasks[name], "gpt-4-0613"))
        judged += [scored(unit, value) for unit, value in zip(made, values["score"], strict=True)]
    found = score(benchmark, judged)
    assert sorted(part.value or 0 for part in found.parts) == [exactly(50.0), exactly(87.5)]
    assert found.value == exactly(100 * told["subsets"]["macro"])
    assert found.beside["pooled"] == exactly(100 * told["subsets"]["pooled"])


def test_rm_bench() -> None:
    benchmark, told = BENCHMARKS["rmbench"], golden("rmbench")

    def measured(rows: list[dict[str, Any]], file: str) -> dict[str, float | None]:
        judged: list[Judged] = []
        for number, row in enumerate(rows):
            made = {"id": number, "prompt": "q", "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}
            if "domain" in row:
                made["domain"] = row["domain"]
            for unit in units(benchmark, [made], file):
                chosen, rejected = unit.facts["chosen"], unit.facts["rejected"]
                judged.append(scored(unit, row["score_chosen"][chosen], row["score_rejected"][rejected]))
        return score(benchmark, judged).flat()

    single, several = told["single_domain"], told["multi_domain"]
    found = measured(single["rows"], "data/chat_filtered.json")
    for level in ("hard", "normal", "easy"):
        assert found[f"chat/{level}"] == exactly(100 * single["official"][f"{level}_acc"])
    found = measured(several["rows"], "total_dataset.json")
    for domain in ("chat", "math", "code", "safety"):
        assert found[domain] == exactly(100 * several["official"][domain])
    for level in ("hard", "normal", "easy"):
        assert found[f"beside/{level}"] == exactly(100 * several["official"][f"{level}_acc"])
    assert found[""] == exactly(100 * several["official"]["total_avg_acc"])


def test_ppe() -> None:
    told = golden("ppe")
    benchmark = BENCHMARKS["ppe-correctness"]
    rows = [
        {"question_id": str(i), "prompt": "q", "scores": row["scores"], "sampled_conflict_pairs": row["pairs"],
         **{f"response_{j + 1}": f"a{j}" for j in range(len(row["scores"]))}}
        for i, row in enumerate(told["rows"])
    ]  # fmt: skip
    made = units(benchmark, rows, "mmlu_pro_best_of_k.parquet")
    judged: list[Judged] = []
    for unit, (row, pair) in zip(made, [(r, p) for r in told["rows"] for p in r["pairs"]], strict=True):
        better, worse = sorted(pair, key=lambda index: -row["scores"][index])
        assert [c.text for c in unit.item.candidates] == [f"a{better}", f"a{worse}"]
        judged.append(scored(unit, row["rm"][better], row["rm"][worse]))
    assert score(benchmark, judged).value == exactly(100 * told["pair_accuracy_tie_wrong"])
    assert score(benchmark, judged, Counting(ties="share")).value == exactly(100 * told["pair_accuracy_tie_half"])
    own, people = told["human_pref"], BENCHMARKS["ppe-preference"]
    rows = [
        {"question_id": str(i), "prompt": "q", "winner": winner, "response_1": "a", "response_2": "b"}
        for i, (winner, _, _) in enumerate(own["rows"])
    ]
    made = units(people, rows)
    kept = [row for row in own["rows"] if row[0] != "tie"]
    judged = [scored(unit, a, b) for unit, (_, a, b) in zip(made, kept, strict=True)]
    assert score(people, judged).value == exactly(100 * own["acc_ties_dropped_equal_wrong"])
    assert score(people, judged, Counting(ties="share")).value == exactly(100 * own["acc_ties_dropped_equal_half"])


def test_ppe_best_of_k() -> None:
    told = golden("ppe")
    benchmark = BENCHMARKS["ppe-best-of-k"]
    rows = [
        {"question_id": str(i), "prompt": "q", "scores": row["scores"], "sampled_conflict_pairs": row["pairs"],
         **{f"response_{j + 1}": f"a{j}" for j in range(len(row["scores"]))}}
        for i, row in enumerate(told["rows"])
    ]  # fmt: skip
    made = units(benchmark, rows, "mmlu_pro_best_of_k.parquet")
    judged = [scored(unit, *row["rm"]) for unit, row in zip(made, told["rows"], strict=True)]
    found = score(benchmark, judged)
    for k in (1, 2, 4):
        assert found.flat()[f"best of k/mmlu_pro/k = {k}"] == exactly(100 * told["best_of_k_prefix"][str(k)])
    assert found.value == exactly(100 * told["best_of_k_prefix"]["4"])
    # Every k has a part in the highest point, the third too.
    assert found.flat()["beside the curve/mmlu_pro/max"] == exactly(100 * max(told["best_of_k_prefix"].values()))
    flags = told["pair_flags_tie_wrong"]
    assert found.flat()["beside the curve/mmlu_pro/pairs"] == exactly(100 * sum(flags) / len(flags))


GAMES = {"A>B": Answer(choice=0), "B>A": Answer(choice=1), "A=B": Answer(scores=(1.0, 1.0)),
         None: Answer(failure=FailureKind.PARSE_ERROR)}  # fmt: skip
TURNED = {"A>B": "B>A", "B>A": "A>B", "A=B": "A=B", None: None}


def games(decisions: list[str | None]) -> tuple[Answer, Answer]:
    """The decisions of both games, the second of which showed the responses the other way round."""
    return GAMES[decisions[0]], GAMES[TURNED[decisions[1]]]


def test_judgebench_games() -> None:
    benchmark, told = BENCHMARKS["judgebench"], golden("judgebench")["tiny_cases"]
    judged: list[Judged] = []
    for number, case in enumerate(told["cases"]):
        row = {"pair_id": str(number), "source": "livecodebench", "label": case["label"], "question": "q",
               "response_A": "a", "response_B": "b"}  # fmt: skip
        (unit,) = units(benchmark, [row])
        both = games([case["order1"], case["order2"]])
        judged.append(Judged(unit=unit, answer=both[0], by_order=both))
        assert score(benchmark, judged[-1:]).value == case["official_score"], case
    assert score(benchmark, judged).value == exactly(told["all_percent"])


def test_the_row_of_a_published_reward_model_on_judgebench() -> None:
    name = "skywork-reward-llama3.1-8b_gpt4o"
    told, benchmark = golden("judgebench")[name], BENCHMARKS["judgebench"]
    judged: list[Judged] = []
    first: list[Judged] = []
    for line in (DATA / "golden" / f"judgebench_decisions_{name}.jsonl").read_text().splitlines():
        row = json.loads(line)
        (unit,) = units(benchmark, [{**row, "question": "q", "response_A": "a", "response_B": "b"}])
        both = games(row["decisions"])
        judged.append(Judged(unit=unit, answer=both[0], by_order=both))
        first.append(Judged(unit=unit, answer=both[0]))
    found = score(benchmark, judged).flat()
    for part in ("mmlu-pro", "livebench-reasoning", "livebench-math", "livecodebench"):
        assert found[part] == exactly(told[part])
    assert found[""] == exactly(told["Overall"])
    assert score(benchmark, first).value == exactly(told["single_game_first_order_Overall"])
