"""``assay bench run`` and ``list``: through the command, with files, flags and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.data import read_results

REPLIES = [r"\boxed{8, 3}", r"\boxed{2, 9}", r"\boxed{5, 5}", r"\boxed{９，4}", "no verdict"]
FAKE = ["--engine", "fake", "--engine-options", json.dumps({"replies": REPLIES})]


def rows(n: int) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "prompt": f"{i}?", "chosen": f"good {i}", "rejected": f"bad {i}", "subset": "ab"[i % 2]}
        for i in range(n)
    ]


def write(path: Path, made: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in made))


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run a command in ``tmp_path``, in this process; what it printed, with single spaces."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write(tmp_path / "pairs.jsonl", rows(20))

    def run(*arguments: str, expect: int = 0) -> str:
        monkeypatch.setattr("sys.argv", ["assay", "bench", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        assert code == expect, told.out + told.err
        return " ".join((told.out + told.err).split())

    return run


def score(folder: str, name: str = "pairs") -> dict[str, Any]:
    return json.loads((Path(folder) / name / "score.json").read_text())


def test_the_official_score_stands_first(assay) -> None:  # type: ignore[no-untyped-def]
    told = assay("run", "pairs", "--data", "pairs.jsonl", *FAKE, "--k", "4", "--seeds", "2", "-o", "out")
    assert told.index("Own pairs: ") < told.index("part score") < told.index("series votes")
    for part in ("voting@4 over 20 cases (20 questions); ties official, failures official", "over greedy",
                 "over voting@1", "with other rules for ties", "with other rules for failures", "lenient",
                 "single order under 2 seeds", "cost of votes: "):  # fmt: skip
        assert part in told
    found = score("out")
    assert next(iter(found)) == "assay_bench"
    assert list(found["by_failures"]) == ["official", "strict", "excluded", "lenient"]
    assert found["lengths"]["votes"]["all"]["votes"] == 80
    run = json.loads(Path("out/run.json").read_text())
    entry = run["benchmarks"]["pairs"]
    assert entry["finished"]
    assert entry["score"] == found["score"]
    assert list(entry["files"]) == ["pairs.jsonl"]
    assert len(entry["files"]["pairs.jsonl"]) == 64
    assert entry["units_hash"] == found["asked"]["units_hash"]
    assert entry["passes"]["greedy"]["temperature"] == 0
    again = assay("run", "pairs", "--data", "pairs.jsonl", *FAKE, "--k", "4", "--seeds", "2", "-o", "out")
    assert again.split("Own pairs: ")[-1] == told.split("Own pairs: ")[-1]
    assert json.loads(Path("out/run.json").read_text())["benchmarks"]["pairs"]["passes"]["votes"]["resumed"] == 20


def test_nothing_but_failures_is_told_by_the_exit_code(assay) -> None:  # type: ignore[no-untyped-def]
    silent = ["--engine", "fake", "--engine-options", json.dumps({"default": "no verdict"})]
    told = assay("run", "pairs", "--data", "pairs.jsonl", *silent, "-o", "out", expect=1)
    assert "parse_error" in told


def test_several_benchmarks_scripts_and_trials(assay) -> None:  # type: ignore[no-untyped-def]
    write(Path("bon.jsonl"), [{"id": "x", "prompt": "q", "candidates": ["a", "b"], "gold": [0, 1]}])
    data = ["--data", "pairs=pairs.jsonl", "--data", "bon=bon.jsonl"]
    told = assay("run", "pairs", "bon", *data, "--judge", "scripted:perfect", "-o", "out", "--limit", "3")
    assert "Own pairs: 6 of 20 questions" in told
    assert "only the first 3 cases of each subset" in told
    assert "no Overall: it needs RewardBench, PPE Preference, PPE Correctness, RMB too" in told
    assert set(json.loads(Path("out/run.json").read_text())["benchmarks"]) == {"pairs", "bon"}
    assert score("out", "bon")["score"] == 100


def test_a_reward_model_and_a_meta_rm(assay) -> None:  # type: ignore[no-untyped-def]
    options = json.dumps({"kind": "fake", "logits": {"good": 1.5, "bad": -2}})
    told = assay("run", "pairs", "--data", "pairs.jsonl", "--reward", "rm", "--reward-options", options, "-o", "rm")
    assert "Own pairs: 100.00" in told
    assert "scalar reward model" in told
    assert {row.scores for row in read_results("rm/pairs/votes.parquet")} == {(1.5,), (-2.0,)}
    told = assay("triage", "rm/pairs/votes.parquet", expect=2)
    assert "no wrong case in 'rm/pairs/votes.parquet': 20 right, 0 failed, 0 that labels do not decide" in told
    wrong = json.dumps({"kind": "fake", "logits": {"good": -1.5, "bad": 2}})
    assay("run", "pairs", "--data", "pairs.jsonl", "--reward", "rm", "--reward-options", wrong, "-o", "worse")
    told = assay("triage", "worse/pairs/votes.parquet", "--each", "1", "-o", "t.jsonl")
    assert "2 of 20 wrong cases in t.jsonl" in told
    sheet = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert {row["scores"] for row in sheet} == {"-1.5 2"}
    meta = ["--meta", "m", "--meta-options", '{"kind": "fake"}', "--k-meta", "1"]
    told = assay("run", "pairs", "--data", "pairs.jsonl", *FAKE, "--k", "4", *meta, "-o", "meta")
    assert "meta@4 over 20 cases" in told
    assert {one["name"]: one["k_meta"] for one in score("meta")["series"]}["meta@4"] == 1


def test_a_table(assay) -> None:  # type: ignore[no-untyped-def]
    write(Path("t.jsonl"), [{"id": f"q{i}", "scores": [i % 4, 1]} for i in range(20)])
    told = assay("run", "pairs", "--data", "pairs.jsonl", "--table", "t.jsonl", "-o", "out")
    # Of each four: worse, a tie, better, better.
    assert "Own pairs: 62.50" in told
    assert score("out")["tied"] == 5
    write(Path("short.jsonl"), [{"id": "q0", "choice": 0}])
    assert "19 items without a row" in assay(
        "run", "pairs", "--data", "pairs.jsonl", "--table", "short.jsonl", expect=2
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rewardbnch"], "did you mean 'rewardbench'?"),
        ([], "name at least one benchmark"),
        (["pairs", "pairs"], "named twice"),
        (["pairs", "--data", "none.jsonl"], "none.jsonl"),
        (["pairs", "bon", "--data", "pairs.jsonl"], "write NAME=PATH"),
        (["pairs", "--data", "pairs.jsonl", "--judge", "scripted:lucky"], "unknown script 'scripted:lucky'"),
        (["pairs", "--data", "pairs.jsonl", "--judge", "scripted:first", "--model", "m"], "has no effect on a script"),
        (["pairs", "--data", "pairs.jsonl", "--reward", "m", "--judge", "pairwise"], "has no effect on a reward model"),
        (["pairs", "--data", "pairs.jsonl", "--judge", "scripted:perfect", "--k", "4", "--k-meta", "2"], "meta RM"),
        (["rmbench", "--field", "prompt=q"], "official formats have their own"),
        (["pairs", "--data", "pairs.jsonl", "--scalar"], "--scalar is about a table"),
        (["pairs", "--data", "pairs.jsonl", "--reward", "m", "--reward-options", '{"kind": "fake"}', "--k", "2"],
         "there is nothing to vote on"),
        (["pairs", "--data", "pairs.jsonl", "--ties", "half"], "half"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_asked(assay, arguments: list[str], told: str) -> None:  # type: ignore[no-untyped-def]
    assert told in assay("run", *arguments, "-o", "out", expect=2)
    assert not list(Path().glob("out/*/*.parquet"))


def test_records_that_do_not_count_are_told_and_end_in_exit_code_1(assay) -> None:  # type: ignore[no-untyped-def]
    write(Path("bad.jsonl"), [*rows(2), {"id": "x", "prompt": "q", "chosen": "a"}, rows(1)[0]])
    told = assay("run", "pairs", "--data", "bad.jsonl", "--judge", "scripted:perfect", "-o", "out", expect=1)
    assert "skipped: bad.jsonl, line 3" in told
    assert "skipped: bad.jsonl, line 4: the same record as bad.jsonl, line 1" in told
    assert score("out")["cases"] == 2


def test_a_private_benchmark_takes_no_cache(assay) -> None:  # type: ignore[no-untyped-def]
    told = assay("run", "realmistake", "--data", "x.zip", *FAKE, "--cache", "c.sqlite", "-o", "out", expect=2)
    assert "whose authors ask that none be stored" in told


def test_the_questions_as_a_file_for_somebody_else_to_answer(assay) -> None:  # type: ignore[no-untyped-def]
    told = assay("items", "pairs", "--data", "pairs.jsonl", "--limit", "4", "-o", "items.jsonl")
    assert "8 questions in items.jsonl" in told
    asked = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    assert asked[0] == {
        "id": "q0", "prompt": "0?", "candidates": ["good 0", "bad 0"], "gold": [1.0, 0.0], "subset": "a", "case": "q0",
        "metadata": {"subset": "a"},
    }  # fmt: skip
    write(Path("t.jsonl"), [{"id": row["id"], "scores": row["gold"]} for row in asked])
    run = ["run", "pairs", "--data", "pairs.jsonl", "--limit", "4", "--table", "t.jsonl", "-o", "out"]
    assert "Own pairs: 100.00" in assay(*run)
    assert "ask that its text stand in no file" in assay("items", "realmistake", expect=2)


def test_list(assay) -> None:  # type: ignore[no-untyped-def]
    assert "rewardbench2" in assay("list")
    found = json.loads(assay("list", "--json"))
    assert {one["name"] for one in found} >= {"rewardbench", "ppe-preference", "rmb", "judgebench", "rmbench", "pairs"}
    assert "allenai/reward-bench" in assay("list", "rewardbench")


def test_a_killed_run_goes_on(assay, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """kill -9 in the middle of the votes: the same command ends with the files of a run that was never killed."""
    options = json.dumps({"replies": REPLIES, "latency_s": 0.05})
    arguments = ["run", "pairs", "--data", "pairs.jsonl", "--engine", "fake", "--engine-options", options,
                 "--k", "2", "--concurrency", "2", "--bootstrap", "20", "-o"]  # fmt: skip
    journal = tmp_path / "killed/pairs/votes.parquet.journal.jsonl"
    command = [sys.executable, "-m", "assay", "bench", *arguments, "killed"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until and not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert journal.exists()
    assert not (tmp_path / "killed/pairs/score.json").exists()
    for out in ("killed", "whole"):
        assay(*arguments, out)
    for name in ("score.json", "answers.parquet", "cases.parquet"):
        assert (tmp_path / "killed/pairs" / name).read_bytes() == (tmp_path / "whole/pairs" / name).read_bytes()
    entry = json.loads((tmp_path / "killed/run.json").read_text())["benchmarks"]["pairs"]
    assert entry["passes"]["greedy"]["resumed"] == 20
    assert 0 < entry["passes"]["votes"]["resumed"] < 20
