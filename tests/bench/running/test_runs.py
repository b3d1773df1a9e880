"""Passes, votes and series of a run: replays, resumes, concurrency, seeds, shared candidates."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assay.bench.running.asked import what_to_ask
from assay.bench.running.passes import RunPlan
from assay.bench.running.run import Settings, planned
from assay.bench.standing import read_places
from assay.core.errors import InputError
from assay.data import VARYING, read_results
from assay.judges import build_judge

from .doubles import REPLIES, ask, document, of_judge, of_script, pairs, run, units_of, value

K4 = RunPlan(k=4, bootstrap=20)


def figures(path: Path) -> object:
    """A result file without when, how fast and who asked first."""
    table = pq.read_table(path)
    return table.drop_columns(sorted(VARYING)).to_pylist(), table.schema.metadata


def test_greedy_is_a_pass_of_its_own_and_every_smaller_k_comes_out_of_the_votes(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(12))
    made = run(benchmark, units, of_judge(meta=True), tmp_path, RunPlan(k=8, bootstrap=20))
    names = [one.name for one in made.result.series]
    assert names == [
        "greedy", *(f"voting@{k}" for k in range(1, 9)), "meta@8/1", "meta@8/8", *(f"meta@{k}" for k in range(2, 9))
    ]  # fmt: skip
    assert made.result.headline == "meta@8"
    assert {row.sampling["temperature"] for row in read_results(tmp_path / "greedy.parquet")} == {0.0}
    assert {row.sampling["temperature"] for row in read_results(tmp_path / "votes.parquet")} == {0.5}
    by_name = {one.name: one for one in made.result.series}
    assert by_name["voting@1"].gains[0].over == "greedy"
    assert [gain.over for gain in by_name["voting@8"].gains] == ["greedy", "voting@1"]
    for one in made.result.series:
        for gain in one.gains:
            assert gain.value == pytest.approx((one.score or 0) - (by_name[gain.over].score or 0))
            assert gain.interval is not None
    assert by_name["meta@8"].k_meta == 4
    assert [by_name[name].k_meta for name in ("meta@8/1", "meta@8/8", "meta@2", "voting@8")] == [1, 8, 1, None]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_fewer_votes_out_of_a_recording_are_those_of_a_run_with_fewer(k: int, tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(12))
    more = run(benchmark, units, of_judge(), tmp_path / "4", K4)
    fewer = run(benchmark, units, of_judge(), tmp_path / str(k), RunPlan(k=k, bootstrap=0))
    at_k = next(one for one in more.result.series if one.name == f"voting@{k}")
    assert at_k.score == value(fewer)
    assert at_k.failed == fewer.result.series[-1].failed


def test_the_headline_is_what_the_scorer_decided(tmp_path: Path) -> None:
    """The answers that are counted are the decisions in the rows."""
    benchmark, units = units_of("pairs", pairs(12))
    run(benchmark, units, of_judge(), tmp_path, K4)
    decided = {row.item_id: row.decision for row in read_results(tmp_path / "votes.parquet")}
    answers = {
        row["unit"]: row
        for row in pq.read_table(tmp_path / "answers.parquet").to_pylist()
        if row["series"] == "voting@4"
    }
    assert len(answers) == 12
    for name, answer in answers.items():
        assert answer["failure"] == decided[name].get("failure")
        assert answer["scores"] == decided[name].get("scores")


def test_equal_seeds_give_equal_files_whatever_the_concurrency(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(20))
    asker = of_judge(meta=True)
    for concurrency in (1, 7):
        run(
            benchmark,
            units,
            asker,
            tmp_path / str(concurrency),
            RunPlan(k=3, seeds=2, bootstrap=20),
            concurrency=concurrency,
        )
    one, seven = tmp_path / "1", tmp_path / "7"
    names = sorted(path.name for path in one.iterdir())
    assert names == [
        "answers.parquet",
        "cases.parquet",
        "greedy.parquet",
        "score.json",
        "seed-1.parquet",
        "votes.parquet",
    ]
    for name in names:
        if name in ("answers.parquet", "cases.parquet", "score.json"):
            assert (one / name).read_bytes() == (seven / name).read_bytes(), name
        else:
            assert figures(one / name) == figures(seven / name), name


def test_another_seed_moves_single_order_scores_and_the_spread_is_told(tmp_path: Path) -> None:
    """Always the first: half of the pairs, give or take the orders that the seed draws."""
    benchmark, units = units_of("pairs", pairs(40))
    made = run(benchmark, units, of_script("first"), tmp_path, RunPlan(bootstrap=0, seeds=3))
    seeds = made.result.seeds
    assert seeds is not None
    values = [score for score in seeds.scores.values() if score is not None]
    assert list(seeds.scores) == [0, 1, 2]
    assert len(set(values)) > 1
    assert seeds.spread == max(values) - min(values)
    # Two of three seeds at least agree on a pair; all three do on a quarter of them.
    assert 50 < (seeds.changed or 0) < 95
    assert document(tmp_path)["seeds"]["spread"] == seeds.spread
    again = run(benchmark, units, of_script("first"), tmp_path / "1", RunPlan(bootstrap=0), seed=1)
    assert value(again) == seeds.scores[1]


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(10))
    asker, how = of_judge(), Settings(folder=tmp_path)
    first = planned(benchmark, units[:6], asker, K4, how)
    assert [one.judged for one in ask(first)] == [6, 6]
    again = planned(benchmark, units, asker, K4, how)
    assert [(one.resumed, one.judged) for one in ask(again)] == [(6, 4), (6, 4)]
    # With fewer units than the file holds only those asked about count.
    assert run(benchmark, units[:6], asker, tmp_path, K4).result.units == 6


def test_the_lenient_reading_stands_beside(tmp_path: Path) -> None:
    """Of the drawn replies one is read by the lenient parser only, one by none."""
    benchmark, units = units_of("pairs", pairs(30))
    made = run(benchmark, units, of_judge(), tmp_path)
    rows = read_results(tmp_path / "greedy.parquet")
    wide = sum(row.text == REPLIES[4] for row in rows)
    assert made.result.failures == {"parse_error": sum(not row.ok for row in rows)}
    accepting = run(benchmark, units, of_judge(lenient=True), tmp_path / "lenient")
    assert made.result.by_failures["lenient"] == value(accepting)
    assert wide
    strict, excluded = made.result.by_failures["strict"], made.result.by_failures["excluded"]
    assert made.result.by_failures["official"] == strict != excluded
    read = [row for row in pq.read_table(tmp_path / "answers.parquet").to_pylist() if row["failure"]]
    assert sum('"failure": null' in row["lenient"] for row in read) == wide


def test_shared_candidates_are_scored_once(tmp_path: Path) -> None:
    """Three responses in two pairs, one response in both."""
    row = {
        "question_id": "1", "prompt": "q", "response_1": "a", "response_2": "b", "response_3": "c",
        "scores": [True, False, False], "sampled_conflict_pairs": [[0, 1], [2, 0]],
    }  # fmt: skip
    _, units = units_of("ppe-correctness", [row], "gpqa_best_of_3.jsonl")
    asked = what_to_ask(units, build_judge("tokenprob"))
    assert list(asked.items) == ["gpqa/1/0#0", "gpqa/1/0#1", "gpqa/1/1#1"]
    assert asked.subjects["gpqa/1/1"] == (("gpqa/1/0#0", 0), ("gpqa/1/1#1", 0))
    first = read_places(asked.items["gpqa/1/0#0"].metadata)
    assert [(one.unit, one.place, one.of, one.gold) for one in first] == [("gpqa/1/0", 0, 2, 1), ("gpqa/1/1", 0, 2, 1)]


def test_an_item_that_the_judge_cannot_take_is_a_failure_and_is_named(tmp_path: Path) -> None:
    benchmark, units = units_of("bon", [
        {"id": "ten", "prompt": "q", "candidates": list("abcdefghij"), "gold": [1, *[0] * 9]},
        {"id": "two", "prompt": "q", "candidates": ["a", "b"], "gold": [1, 0]},
    ])  # fmt: skip
    asker = of_judge("tokenprob", replies=("1",), form="list")
    made = run(benchmark, units, asker, tmp_path)
    assert list(made.refused) == ["ten"]
    assert made.result.failures == {"bad_request": 1}
    with pytest.raises(InputError, match="can take none of the 1 questions"):
        run(benchmark, units[:1], asker, tmp_path / "none")


def test_a_judge_that_names_the_best_is_refused_before_it_is_asked_where_scores_are_needed(tmp_path: Path) -> None:
    benchmark, units = units_of("single", [{"id": "x", "prompt": "q", "candidates": ["a"], "gold": [1]}])
    with pytest.raises(InputError, match="needs a score for each candidate"):
        planned(benchmark, units, of_judge("pairwise"), RunPlan(), Settings(folder=tmp_path))


def test_a_pairwise_judge_in_both_orders(tmp_path: Path) -> None:
    """It always names the first shown: a tie of two votes, one for either."""
    benchmark, units = units_of("pairs", pairs(6))
    asker = of_judge("pairwise", replies=(r"\boxed{1}",))
    made = run(benchmark, units, asker, tmp_path, RunPlan(bootstrap=0, orders="both"))
    assert value(made) == 50
    assert made.result.orders is not None
    assert (made.result.orders.first, made.result.orders.second, made.result.orders.agree) == (100, 0, 0)
    with pytest.raises(InputError, match="both_orders hides"):
        run(benchmark, units, of_judge("pairwise", both_orders=True), tmp_path / "x", RunPlan(orders="both"))


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (RunPlan(greedy=False), "leaves nothing to ask"),
        (RunPlan(greedy=False, k=2, seeds=2), "compares greedy passes"),
        (RunPlan(k=2, k_meta=1), "needs a meta RM"),
    ],
)
def test_options_that_do_not_go_together(plan: RunPlan, told: str, tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(2))
    with pytest.raises(InputError, match=told):
        planned(benchmark, units, of_judge(), plan, Settings(folder=tmp_path))
