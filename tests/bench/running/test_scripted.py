"""Scripted judges of known quality over every data set: perfect, inverted, constant, always the first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.bench.catalog import find_benchmark
from assay.bench.loading import load_benchmark
from assay.bench.running.asked import first_cases
from assay.bench.running.passes import RunPlan
from assay.core.errors import InputError

from ..shared import DATA, needs_shared
from .doubles import of_script, pairs, run, units_of, value

SHARED = {
    "rewardbench": "rewardbench_rebuilt/rb_llmbar.jsonl",
    "ppe-correctness": "gsm8k/ppe_like_best_of_4.jsonl",
    "bon": "gsm8k/example_model_solutions.jsonl",
    "judgebench": "judgebench",
    "rmbench": "rm_bench",
    "realmistake": "realmistake",
    "pandalm": "pandalm/testset-v1.json",
}
LIST = {"prompt": "q", "chosen": ["r"], "rejected": ["w1", "w2", "w3"], "num_correct": 1}
TURN = [{"role": "user", "content": "q", "language": "en"}]
_BY_HAND: Mapping[str, list[dict[str, Any]]] = {
    "rewardbench": [
        {"id": i, "prompt": f"q{i}", "chosen": "r", "rejected": "w", "subset": subset}
        for i, subset in enumerate(("alpacaeval-easy", "llmbar-natural", "donotanswer", "math-prm", "hep-cpp"))
    ],
    "rewardbench2": [
        {**LIST, "id": "1", "subset": "Math"},
        {**LIST, "id": "2", "subset": "Focus", "prompt": "p"},
        {**LIST, "id": "ref:7", "subset": "Ties"},
        {**LIST, "id": "tied:7", "subset": "Ties", "chosen": ["r", "s"], "num_correct": 2},
    ],
    "ppe-preference": [
        {"question_id": str(i), "prompt": f"q{i}", "response_1": "a", "response_2": "b", "winner": winner}
        for i, winner in enumerate(("model_a", "model_b", "tie"))
    ],
    "rmb": [
        {"pair_uid": "p", "conversation_input": TURN, "chosen": {"answer": "r", "llm_name": "m"},
         "reject": {"answer": "w", "llm_name": "m"}, "category_path": "Pairwise_set/Helpfulness/x"},
        {"bon_uid": "b", "conversation_input": TURN, "bon_best": {"answer": "r", "llm_name": "m"},
         "loser_list": [{"answer": f"w{i}", "llm_name": "m"} for i in range(3)],
         "category_path": "BoN_set/Harmlessness/x"},
    ],
    "pairs": pairs(4),
    "bon": [{"id": "x", "prompt": "q", "candidates": ["a", "b", "c"], "gold": [0, 1, 0]}],
    "single": [{"id": str(i), "prompt": f"q{i}", "candidates": ["a"], "gold": [i % 2]} for i in range(4)],
}  # fmt: skip
BY_HAND = {**_BY_HAND, "rmb-pairs": _BY_HAND["rmb"]}
CHANCE = {"rewardbench2": None, "rmb": (50 + 25) / 2, "rmb-pairs": (50 + 100 / 8) / 2, "bon": 100 / 3}
"""The chance value of a constant judge, where it is not half: best of n, and n - 1 pairs that must all be right."""
MOST = {"rewardbench2": (100 + 100 + 101) / 3}
"""The most that a score can be, where it is not 100."""


@pytest.mark.parametrize("name", BY_HAND)
def test_perfect_and_inverted(name: str, tmp_path: Path) -> None:
    benchmark, units = units_of(name, BY_HAND[name])
    assert value(run(benchmark, units, of_script("perfect"), tmp_path / "p")) == pytest.approx(MOST.get(name, 100))
    # The one right answer below all wrong ones; of the margin of Ties a hundredth is lost on top.
    least = (0 + 0 - 1) / 3 if name == "rewardbench2" else 0
    assert value(run(benchmark, units, of_script("inverted"), tmp_path / "i")) == pytest.approx(least)


@pytest.mark.parametrize("name", [name for name in BY_HAND if name != "rewardbench2"])
def test_a_constant_judge_is_worth_chance_where_ties_are_shared(name: str, tmp_path: Path) -> None:
    benchmark, units = units_of(name, BY_HAND[name])
    made = run(benchmark, units, of_script("constant"), tmp_path, RunPlan(bootstrap=0, ties="share"))
    assert value(made) == pytest.approx(CHANCE.get(name, 50))
    assert made.result.tied == (0 if name == "single" else made.result.units)


@pytest.mark.parametrize("name", ["rewardbench", "ppe-preference", "pairs", "rmb-pairs"])
def test_always_the_first_is_half_right_in_both_orders(name: str, tmp_path: Path) -> None:
    benchmark, units = units_of(name, BY_HAND[name])
    made = run(benchmark, units, of_script("first"), tmp_path, RunPlan(bootstrap=0, orders="both"))
    orders = made.result.orders
    assert orders is not None
    assert (orders.mean, orders.agree) == (50.0, 0.0)
    assert orders.first == (50.0 if name == "ppe-preference" else 100.0)
    assert made.result.tied == made.result.units  # each pair has a vote for either


@pytest.mark.parametrize("name", ["rmb", "realmistake"])
def test_both_orders_are_for_pairs(name: str, tmp_path: Path) -> None:
    _, units = units_of("rmb", BY_HAND["rmb"])
    with pytest.raises(InputError, match="--orders both is for pairs"):
        run(find_benchmark(name), units, of_script("first"), tmp_path, RunPlan(orders="both"))


@needs_shared
@pytest.mark.parametrize("name", SHARED)
def test_every_shared_data_set(name: str, tmp_path: Path) -> None:
    """A slice of each: the first cases of every subset."""
    benchmark = find_benchmark(name)
    units = first_cases(load_benchmark(benchmark, DATA / SHARED[name]).units, 15)
    # Absent sections of RewardBench count 0, so that Chat Hard alone is a quarter of the score.
    share = 0.25 if name == "rewardbench" else 1.0
    found = {script: run(benchmark, units, of_script(script), tmp_path / script) for script in ("perfect", "inverted")}
    assert value(found["perfect"]) == pytest.approx(100 * share)
    assert value(found["inverted"]) == pytest.approx(0)
    constant = run(benchmark, units, of_script("constant"), tmp_path / "c", RunPlan(bootstrap=0, ties="share"))
    if benchmark.kind == "list":
        chance = sum(sum(u.item.gold or ()) / u.item.n for u in units) / len(units)
        assert value(constant) == pytest.approx(100 * chance)
    else:
        assert value(constant) == pytest.approx(50 * share)
    if benchmark.kind == "pair":
        first = run(benchmark, units, of_script("first"), tmp_path / "f", RunPlan(bootstrap=0, orders="both"))
        assert first.result.orders is not None
        assert first.result.orders.mean == pytest.approx(50 * share)
