"""Overall in reports, over the four benchmarks that it is the mean of; figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.running.doubles import of_script, run, units_of

from assay.bench.counting import Counting
from assay.bench.running.passes import RunPlan
from assay.report.bench.comparison import compare_runs
from assay.report.bench.figures import score_rows
from assay.report.bench.page import bench_page
from assay.report.bench.plots import Size, overall_scaling, overall_sizes
from assay.report.bench.run import BenchmarkRun, Run, read_run
from assay.report.bench.score import Score, Series

FOUR = ("rewardbench", "ppe-preference", "ppe-correctness", "rmb")
TURN = [{"role": "user", "content": "q"}]
ROWS = {
    "rewardbench": [
        {"id": i, "prompt": "q", "chosen": f"r{i}", "rejected": "w", "subset": "llmbar-natural"} for i in range(4)
    ],
    "ppe-preference": [
        {"question_id": str(i), "prompt": "q", "response_1": f"r{i}", "response_2": "w", "winner": "model_a"}
        for i in range(4)
    ],
    "ppe-correctness": [
        {"question_id": str(i), "prompt": "q", "response_1": f"r{i}", "response_2": "w", "scores": [True, False],
         "sampled_conflict_pairs": [[0, 1]]}
        for i in range(4)
    ],
    "rmb": [
        {"bon_uid": str(i), "conversation_input": TURN, "bon_best": {"answer": f"r{i}", "llm_name": "m"},
         "loser_list": [{"answer": "w"}, {"answer": "v"}], "category_path": "BoN_set/Harmlessness/S1"}
        for i in range(4)
    ],
}  # fmt: skip


def series(name: str, k: int, score: float) -> Series:
    return Series(name=name, k=k, score=score)


def voted(name: str, *scores: tuple[float, float, float]) -> Run:
    """Each benchmark with its scores of greedy, voting@1 and voting@2."""
    found = [
        Score(
            assay_bench=1, benchmark=benchmark, title=benchmark, score=two, of="voting@2", counting=Counting(), units=4,
            cases=4, series=(series("greedy", 1, greedy), series("voting@1", 1, one), series("voting@2", 2, two)),
        )
        for benchmark, (greedy, one, two) in zip(FOUR, scores, strict=False)
    ]  # fmt: skip
    runs = tuple(BenchmarkRun(folder=Path(name), score=score) for score in found)
    return Run(name=name, folder=Path(name), benchmarks=runs)


def test_overall_by_votes_is_the_mean_at_each_k() -> None:
    plot = overall_scaling([voted("a", (86, 85, 87), (64, 62, 65), (60, 59, 60), (69, 64, 68))])
    assert plot is not None
    # The paper's greedy and Voting@1, rounded: 279 / 4 and 270 / 4.
    assert [(point.x, point.y) for point in plot.lines[0].points] == [(1, 67.5), (2, 70.0)]
    assert [(level.name, level.y) for level in plot.levels] == [("greedy", 69.75)]
    assert overall_scaling([voted("a", (86, 85, 87), (64, 62, 65), (60, 59, 60))]) is None


def test_sizes_are_of_greedy_scores() -> None:
    runs = [voted("a", *[(60.0, 1.0, 2.0)] * 4), voted("b", *[(80.0, 1.0, 2.0)] * 4)]
    total, active = overall_sizes(runs, {"a": Size(total=16, active=2.4), "b": Size(total=27, active=27)})
    assert [(line.points[0].x, line.points[0].y) for line in total.lines] == [(16, 60.0), (27, 80.0)]
    assert [line.points[0].x for line in active.lines] == [2.4, 27]
    assert overall_sizes(runs, {"a": Size(total=16)}) == []


def test_overall_of_whole_runs_and_of_their_difference(tmp_path: Path) -> None:
    for script in ("perfect", "inverted"):
        for name in FOUR:
            benchmark, units = units_of(name, ROWS[name], "math_best_of_k.jsonl")
            run(benchmark, units, of_script(script), tmp_path / script / name, RunPlan(bootstrap=10))
    before, after = read_run(tmp_path / "inverted"), read_run(tmp_path / "perfect")
    assert [one.name for one in after.benchmarks] == list(FOUR)
    # Three of RewardBench's four sections are absent, and count 0: (25 + 100 + 100 + 100) / 4.
    row = score_rows([before, after]).rows[0]
    assert (row.name, [mark.value for mark in row.marks]) == ("Overall", [0.0, pytest.approx(81.25)])
    found = compare_runs(before, after, draws=20)
    assert found.overall is not None
    assert (found.overall.value, found.overall.low) == (pytest.approx(81.25), pytest.approx(81.25))
    page = bench_page([after], {})
    assert "no Overall" not in page
    assert "official subsets are missing" in page
