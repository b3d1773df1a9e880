"""Two runs compared, with figures worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.bench.running.doubles import of_script, pairs, run, units_of
from tests.report.bench.runs import write_script, write_votes

from assay.bench.running.passes import RunPlan
from assay.core.errors import InputError
from assay.report.bench.comparison import compare_runs
from assay.report.bench.comparison_page import comparison_page
from assay.report.bench.comparison_text import conclusion, print_comparison
from assay.report.bench.run import read_run
from assay.report.bench.significance import Signs
from assay.report.bench.written import comparison_json, write_comparison


def test_right_against_wrong(tmp_path: Path) -> None:
    before = read_run(write_script(tmp_path / "wrong", "inverted"))
    after = read_run(write_script(tmp_path / "right", "perfect"))
    (one,) = compare_runs(before, after, draws=99).benchmarks
    assert (one.score.before, one.score.after, one.score.value) == (0.0, 100.0, 100.0)
    assert (one.score.low, one.score.high, one.score.p, one.score.n) == (100.0, 100.0, 2 / 100, 12)
    assert one.signs == (found := Signs(better=12, worse=0, same=0, binary=True))
    assert found.p == 2 / 2**12
    assert [figure.path for figure in one.figures] == ["", "a", "b", "beside/all cases"]
    assert [figure.n for figure in one.figures] == [12, 6, 6, None]
    assert conclusion(one.score) == "higher by 100.0 points"
    turned = compare_runs(after, before, draws=99).benchmarks[0]
    assert (turned.score.value, turned.signs) == (-100.0, Signs(better=0, worse=12, same=0, binary=True))


def test_a_run_against_itself(tmp_path: Path) -> None:
    same = read_run(write_votes(tmp_path / "run", k=2, meta=False))
    (one,) = compare_runs(same, same, draws=20).benchmarks
    assert (one.score.value, one.score.low, one.score.high, one.score.p) == (0.0, 0.0, 0.0, 1.0)
    assert one.signs is not None
    assert (one.signs.better, one.signs.worse, one.signs.same, one.signs.p) == (0, 0, 12, 1.0)
    assert one.notes == ()
    assert conclusion(one.score) == "+0.0 points, which cannot be told from no difference"


def test_only_shared_cases_count_and_the_others_are_told(tmp_path: Path) -> None:
    before = read_run(write_script(tmp_path / "before", "constant", n=12))
    benchmark, units = units_of("pairs", pairs(20)[4:])
    run(benchmark, units, of_script("perfect"), tmp_path / "after" / "pairs", RunPlan(bootstrap=0))
    found = compare_runs(before, read_run(tmp_path / "after"), draws=0)
    (one,) = found.benchmarks
    assert (one.shared, one.only_before, one.only_after) == (8, 4, 8)
    # A tie of the constant judge is worth half.
    assert (one.score.before, one.score.after, one.score.low, one.score.p) == (50.0, 100.0, None, None)
    assert one.signs == Signs(better=8, worse=0, same=0, binary=False)
    console = Console(record=True, width=200)
    print_comparison(console, found)
    text = console.export_text()
    assert "4 cases only before, which count for nothing here" in text
    assert "8 cases only after" in text


def test_what_differs_between_the_runs_is_noted(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(6))
    for name, plan in (("a", RunPlan(bootstrap=0)), ("b", RunPlan(bootstrap=0, ties="wrong"))):
        run(benchmark, units, of_script("constant"), tmp_path / name / "pairs", plan)
    (one,) = compare_runs(read_run(tmp_path / "a"), read_run(tmp_path / "b"), draws=0).benchmarks
    assert one.notes == ("counting, ties: official and wrong",)
    assert (one.score.before, one.score.after) == (50.0, 0.0)


def test_series_by_name_and_what_is_not_there(tmp_path: Path) -> None:
    voted = read_run(write_votes(tmp_path / "voted", k=2, meta=False))
    right = read_run(write_script(tmp_path / "right", "perfect"))
    assert compare_runs(voted, voted, series="greedy", draws=0).benchmarks[0].series == ("greedy", "greedy")
    with pytest.raises(InputError, match=r"no series 'greedy': there are once"):
        compare_runs(voted, right, series="greedy")
    benchmark, units = units_of("bon", [{"prompt": "q", "candidates": ["a", "b", "c"], "gold": [1, 0, 0]}])
    run(benchmark, units, of_script("perfect"), tmp_path / "bon" / "bon", RunPlan(bootstrap=0))
    with pytest.raises(InputError, match="no benchmark in common"):
        compare_runs(right, read_run(tmp_path / "bon"))
    benchmark, units = units_of("pairs", [{**row, "id": f"other {row['id']}"} for row in pairs(4)])
    run(benchmark, units, of_script("perfect"), tmp_path / "other" / "pairs", RunPlan(bootstrap=0))
    with pytest.raises(InputError, match="no case of 'pairs' in common"):
        compare_runs(right, read_run(tmp_path / "other"))


def test_an_area_has_no_sign_test(tmp_path: Path) -> None:
    rows = [{"id": str(i), "prompt": "q", "response": f"r{i}", "gold": i % 2} for i in range(8)]
    benchmark, units = units_of("single", rows)
    for name in ("perfect", "inverted"):
        run(benchmark, units, of_script(name), tmp_path / name / "single", RunPlan(bootstrap=0))
    (one,) = compare_runs(read_run(tmp_path / "inverted"), read_run(tmp_path / "perfect"), draws=9).benchmarks
    assert one.signs is None
    assert one.score.value == 100.0


def test_the_files_of_a_comparison(tmp_path: Path) -> None:
    before = read_run(write_script(tmp_path / "<b>wrong", "inverted"))
    found = compare_runs(before, read_run(write_script(tmp_path / "right", "perfect")), draws=20)
    files = write_comparison(tmp_path / "out", found)
    assert [file.name for file in files] == [f"comparison.{end}" for end in ("md", "json", "png", "html")]
    told = json.loads(files[1].read_text())
    assert told["benchmarks"][0]["figures"][0]["difference"] == 100.0
    assert told["benchmarks"][0]["signs"]["test"] == "mcnemar"
    assert told == json.loads(json.dumps(comparison_json(found)))
    page = comparison_page(found)
    assert "<b>wrong" not in page.replace("&lt;b&gt;wrong", "")
    assert "McNemar, exact" in page
    assert "| Own pairs | 0.0 | 100.0 | +100.0 | +100.0 to +100.0 |" in files[0].read_text()
