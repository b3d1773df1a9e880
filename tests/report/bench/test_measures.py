"""Other measures of a score in its reports: tables with intervals, and the curve over k."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.running.doubles import of_script, run, units_of

from assay.bench.benchmarks.ppe_best_of_k import OF_SETS, PERFECT
from assay.bench.running.passes import RunPlan
from assay.report.bench.markdown import bench_markdown
from assay.report.bench.page import bench_page
from assay.report.bench.plots import best_of_k, plots_of
from assay.report.bench.run import read_runs

NAME = "ppe-best-of-k"


def write(folder: Path, script: str) -> Path:
    """Four questions of two sets; always the fourth response is right, in the second set the first too."""
    rows = [
        {"question_id": str(i), "prompt": f"q{i}", **{f"response_{j}": f"a{i}{j}" for j in range(1, 5)},
         "scores": [i > 1, False, False, True], "sampled_conflict_pairs": [[3, 1]]} for i in range(4)
    ]  # fmt: skip
    benchmark, first = units_of(NAME, rows[:2], "math_best_of_k.jsonl")
    _, second = units_of(NAME, rows[2:], "gpqa_best_of_k.jsonl")
    run(benchmark, (*first, *second), of_script(script), folder / NAME, RunPlan(bootstrap=20))
    return folder


def test_tables_are_in_every_format_and_the_curve_is_drawn(tmp_path: Path) -> None:
    (one,) = read_runs([write(tmp_path / "one", "inverted")])
    text = bench_markdown([one], {})
    # Inverted takes the wrong ones where there are any: the first of the first k in math, the second in gpqa.
    assert "| math | 2 | 0.0 (0.0–0.0) | 0.0 (0.0–0.0) | 0.0 (0.0–0.0) |" in text
    assert "| gpqa | 2 | 100.0 (100.0–100.0) | 0.0 (0.0–0.0) | 0.0 (0.0–0.0) |" in text
    assert "|  | n | max | end | error | area | pairs |" in text
    page = bench_page([one], {})
    assert "beside the curve" in page
    assert '<th scope="col">k = 4</th>' in page
    plot = best_of_k([one], NAME)
    assert plot is not None
    assert [line.name for line in plot.lines] == ["math", "gpqa", OF_SETS, PERFECT]
    assert [[(p.x, p.y) for p in line.points] for line in plot.lines[2:]] == [
        [(1, 50), (2, 0), (4, 0)],
        [(1, 50), (2, 50), (4, 100)],
    ]
    assert [line.hollow for line in plot.lines] == [False, False, False, True]


def test_several_runs_are_drawn_by_their_means(tmp_path: Path) -> None:
    runs = read_runs([write(tmp_path / name, name) for name in ("perfect", "inverted")])
    plot = best_of_k(runs, NAME)
    assert plot is not None
    assert [line.name for line in plot.lines] == [
        f"{name}: {row}" for name in ("perfect", "inverted") for row in (OF_SETS, PERFECT)
    ]
    assert plot in plots_of(runs, {}, NAME)


@pytest.mark.parametrize("name", ["pairs", "rewardbench"])
def test_a_benchmark_without_other_measures_has_no_such_plot(name: str, tmp_path: Path) -> None:
    (one,) = read_runs([write(tmp_path, "perfect")])
    assert best_of_k([one], name) is None
