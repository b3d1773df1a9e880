"""Reports of whole runs: what is on them, and what is not."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.bench.running.doubles import of_judge, run, units_of
from tests.bench.running.test_private import REPLIES, rows, texts_in
from tests.report.bench.runs import HOSTILE, write_script, write_votes

from assay.bench.running.passes import RunPlan
from assay.core.errors import InputError, OutputError
from assay.report.bench.markdown import bench_markdown
from assay.report.bench.page import bench_page
from assay.report.bench.plots import Size, kept_by_meta, overall_scaling, scaling, sizes
from assay.report.bench.run import read_run, read_runs
from assay.report.bench.told import length_facts, otherwise, place_facts, score_facts
from assay.report.bench.written import report_json, write_reports


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_votes(tmp_path_factory.mktemp("runs") / "voted")


@pytest.fixture(scope="module")
def perfect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_script(tmp_path_factory.mktemp("runs") / "perfect", "perfect")


def test_the_page_says_the_score_and_what_stands_beside_it(votes: Path) -> None:
    read = read_run(votes)
    text = bench_page([read], {})
    said = " ".join(" ".join(_Page(text).said).split())
    score = read.benchmarks[0].score
    for told in (
        f"{score.score:.1f}", "official score", "ties official", "ties share", "failures strict", "failures lenient",
        "failures excluded", "parse_error", "Subsets", "Tokens written per vote", "Length bias", "Position bias",
        "best at place 1", "over greedy", "over voting@1", "0.25", "1,200",
    ):  # fmt: skip
        assert told in said, told
    assert text.count('class="curves plot"') == 2


def test_nothing_gets_out_of_its_place_and_nothing_runs(votes: Path) -> None:
    text = bench_page([read_run(votes)], {})
    page = _Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert HOSTILE in " ".join(page.said)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert f"style-src 'sha256-{base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()}'" in text
    assert " style=" not in text
    assert "<img" not in bench_markdown([read_run(votes)], {})


def test_votes_begin_where_meta_begins_and_greedy_is_a_level(votes: Path) -> None:
    read = read_run(votes)
    one = read.benchmarks[0]
    plot = scaling([read], "pairs")
    assert plot is not None
    voting, meta = plot.lines
    assert [point.x for point in voting.points] == [point.x for point in meta.points] == list(range(1, 9))
    assert voting.points[0] == meta.points[0]
    greedy = one.series("greedy")
    assert greedy is not None
    assert [(level.name, level.y) for level in plot.levels] == [("greedy", greedy.score)]
    kept = kept_by_meta([read], "pairs")
    assert kept is not None
    assert [point.x for point in kept.lines[0].points] == [1, 4, 8]
    # Keeping all votes is plain voting.
    assert kept.lines[0].points[-1].y == kept.levels[0].y == voting.points[-1].y
    assert overall_scaling([read]) is None


def test_two_runs_share_every_scale(votes: Path, perfect: Path) -> None:
    runs = read_runs([votes, perfect])
    assert [run.name for run in runs] == ["voted", "perfect"]
    text = bench_page(runs, {"voted": Size(total=16, active=2.4), "perfect": Size(total=671, active=37)})
    assert text.count("by total parameters</figcaption>") == 1
    assert "voted: Voting@k" in text
    known = {"voted": Size(total=16, active=2.4), "perfect": Size(total=671)}
    (plot,) = sizes(runs, known, "pairs")
    assert [(line.name, line.points[0].x) for line in plot.lines] == [("voted", 16), ("perfect", 671)]
    assert plot.lines[1].points[0].y == 100.0
    assert runs[0].active_parameters == 2.4
    assert runs[1].active_parameters is None


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        write_script(tmp_path / parent / "run", "constant", n=4)
    assert [run.name for run in read_runs([tmp_path / "a" / "run", tmp_path / "b" / "run"])] == ["a/run", "b/run"]


def test_a_perfect_judge_in_figures(perfect: Path) -> None:
    """Its pairs are ``good i`` and ``bad i``: the right answer is the longer one, and so is the one that it likes."""
    one = read_run(perfect).benchmarks[0]
    facts = {fact.name: fact.value for fact in score_facts(one)}
    assert (facts["score of"], facts["tied answers"], facts["no answer"]) == ("once", "0", "0")
    length = {fact.name: fact.value for fact in length_facts(one)}
    assert length == {
        "prefers the longer answer": "100.0 %",
        "the right one is longer": "100.0 %",
        "right where it is longer": "100.0 %",
        "right where it is shorter": "–",
    }
    assert otherwise(one)["ties"] == {"official*": "100.0", "share": "100.0", "wrong": "100.0", "random": "100.0"}


def test_always_first_is_seen_by_the_position_bias(tmp_path: Path) -> None:
    one = read_run(write_script(tmp_path / "first", "first")).benchmarks[0]
    assert [(fact.name, fact.value) for fact in place_facts(one)] == [
        ("best at place 1", "100.0 %"),
        ("best at place 2", "0.0 %"),
    ]


def test_all_formats_are_written_and_json_is_plain(votes: Path, perfect: Path, tmp_path: Path) -> None:
    runs = read_runs([votes, perfect])
    files = write_reports(tmp_path / "out", runs, {})
    assert [file.name for file in files] == [
        "report.md",
        "report.json",
        "report.png",
        "report-pairs.png",
        "report.html",
    ]
    assert files[2].read_bytes().startswith(b"\x89PNG")
    told = json.loads(files[1].read_text())
    assert [run["name"] for run in told["runs"]] == ["voted", "perfect"]
    assert told["runs"][1]["benchmarks"][0]["score"] == 100.0
    assert told["runs"][0]["benchmarks"][0]["position_bias"][0]["place"] == 0
    assert told["runs"][0]["overall"]["value"] is None
    assert told == json.loads(json.dumps(report_json(runs, {})))
    assert [file.name for file in write_reports(tmp_path / "md", runs, {}, ("md",))] == ["report.md"]
    lines = files[0].read_text().splitlines()
    assert any(line.startswith("| Own pairs | n = 12 |") for line in lines)
    assert "| k, votes | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |" in lines


def test_no_text_of_a_private_benchmark_is_in_any_report(tmp_path: Path) -> None:
    benchmark, units = units_of("realmistake", rows(24))
    run(benchmark, units, of_judge(replies=REPLIES), tmp_path / "run" / "realmistake", RunPlan(k=3, bootstrap=20))
    files = write_reports(tmp_path / "out", read_runs([tmp_path / "run"]), {})
    assert len(files) == 5
    assert texts_in(tmp_path / "out") == texts_in(tmp_path / "run" / "realmistake") == []
    assert "rank correlation of length with score" in (tmp_path / "out" / "report.md").read_text()


def test_the_folder_of_one_benchmark_is_a_run(votes: Path) -> None:
    assert [one.name for one in read_run(votes / "pairs").benchmarks] == ["pairs"]
    assert read_run(votes / "pairs").active_parameters == 2.4


def test_what_is_no_run_is_said(tmp_path: Path, votes: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no score\.json"):
        read_run(tmp_path)
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "score.json").write_text("{}")
    with pytest.raises(InputError, match=r"is no score of a benchmark run.*assay_bench"):
        read_run(tmp_path)
    (tmp_path / "pairs" / "score.json").write_text("{")
    with pytest.raises(InputError, match="is no score of a benchmark run"):
        read_run(tmp_path)
    (tmp_path / "pairs" / "score.json").write_bytes((votes / "pairs" / "score.json").read_bytes())
    with pytest.raises(InputError, match=r"answers\.parquet' cannot be read"):
        bench_page([read_run(tmp_path)], {})
    (tmp_path / "pairs" / "answers.parquet").write_text("no table")
    with pytest.raises(InputError, match="is no table of a benchmark run"):
        bench_page([read_run(tmp_path)], {})
    with pytest.raises(OutputError):
        write_reports(tmp_path / "pairs" / "score.json", [read_run(votes)], {}, ("md",))
