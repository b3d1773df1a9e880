"""``assay judge`` with votes, and with recorded ones: replay, sweep, bootstrap, another meta RM, diff."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.data import ResultRow, read_results
from assay.data.decisions import judgments

REPLIES = [r"\boxed{8, 3}", r"\boxed{2, 9}", r"\boxed{5, 5}", r"\boxed{９，4}", "no verdict"]


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, " ".join(out.split()), err


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run a command in ``tmp_path``, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = [
        {"id": f"q{i}", "prompt": f"{i}?", "candidates": [f"a{i}", f"b{i}"], "gold": [1, 0], "reference": "x"}
        for i in range(30)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: str, expect: int = 0) -> Ran:
        monkeypatch.setattr("sys.argv", ["assay", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        assert code == expect, told.out + told.err
        return Ran(code, told.out, told.err)

    return run


def judge(assay, *more: str, out: str = "run.parquet", expect: int = 0) -> Ran:  # type: ignore[no-untyped-def]
    engine = ["--engine", "fake", "--engine-options", json.dumps({"replies": REPLIES})]
    return assay("judge", "in.jsonl", *engine, "--reask", "0", "-o", out, *more, expect=expect)


def decisions(path: str) -> list[object]:
    return [row.decision for row in read_results(path)]


def test_votes_are_drawn_reduced_and_told(assay) -> None:  # type: ignore[no-untyped-def]
    ran = judge(
        assay, "--k", "8", "--orders", "balanced", "--ties", "half", "--price", '{"prompt": 1, "completion": 2}'
    )
    rows = read_results("run.parquet")
    assert len(rows) == 240
    assert {row.sampling["temperature"] for row in rows} == {0.5}
    assert "votes per judgment 8 k=8, balanced, sum, ties half" in ran.out
    assert "30 judgments of 240 votes in run.parquet" in ran.out
    assert "votes dropped" in ran.out
    assert "right as ties were settled" in ran.out
    assert "money per verdict" in ran.out
    again = judge(assay, "--k", "8", "--orders", "balanced", "--ties", "half")
    assert "30 of them from an earlier call" in again.out


def test_a_meta_rm_by_its_options(assay) -> None:  # type: ignore[no-untyped-def]
    judge(assay, "--k", "4", "--meta", "rm", "--k-meta", "1", "--meta-options", '{"kind": "fake"}')
    kept = [row for row in read_results("run.parquet") if row.kept]
    assert 0 < len(kept) <= 30
    assert all(row.meta is not None for row in kept)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--k", "0"], "k must be between 1 and 4096, got 0"),
        (["--k", "4", "--k-meta", "2"], "k_meta=2 needs a meta RM"),
        (["--k", "2", "--meta", "rm", "--k-meta", "3"], "k_meta must be between 1 and k=2, got 3"),
        (["--k", "2", "--stop", "soon"], "stop 'soon' is no rule"),
        (["--meta-options", '{"kind": "fake"}'], "needs a meta RM"),
        (["--k", "2", "--meta", "rm", "--meta-options", '{"kind": "x"}'], "no reward engine is named 'x'"),
        (["--price", '{"prompt": -1, "completion": 0}'], "prompt"),
        (["--k-sweep"], "name them with --replay"),
    ],
)
def test_what_cannot_be_voted_is_said_before_anything_is_judged(assay, flags: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    assert message in judge(assay, *flags, expect=2).err
    assert not Path("run.parquet").exists()


def test_a_replay_asks_no_judge_and_is_the_record(assay) -> None:  # type: ignore[no-untyped-def]
    judge(assay, "--k", "8")
    ran = assay("judge", "--replay", "run.parquet")
    assert "replay of 30 judgments, no judge asked: unchanged 30" in ran.out
    assert decisions("run.replay.parquet") == decisions("run.parquet")
    assert read_results("run.replay.parquet") == read_results("run.parquet")


def test_a_replay_under_other_options(assay) -> None:  # type: ignore[no-untyped-def]
    judge(assay, "--k", "8")
    judge(assay, "--k", "4", out="four.parquet")
    assay("judge", "--replay", "run.parquet", "--k", "4", "-o", "first4.parquet")
    assert decisions("first4.parquet") == decisions("four.parquet")
    lenient = assay("judge", "--replay", "run.parquet", "--lenient", "--reduce", "median", "-o", "lenient.parquet")
    assert "unchanged 30" not in lenient.out
    ok = [sum(row.ok for row in read_results(path)) for path in ("run.parquet", "lenient.parquet")]
    assert ok[0] < ok[1]
    assert "needs up to 9 votes, 8 are recorded" in assay("judge", "--replay", "run.parquet", "--k", "9", expect=2).err
    assert "asks something else" in assay("judge", "--replay", "run.parquet", "--language", "zh", expect=2).err
    told = assay("judge", "--replay", "run.parquet", "--engine", "fake", expect=2).err
    assert "--engine 'fake' has no effect on a replay" in told
    assert "is the input itself" in assay("judge", "--replay", "run.parquet", "-o", "run.parquet", expect=2).err


def test_a_sweep_with_a_bootstrap(assay) -> None:  # type: ignore[no-untyped-def]
    judge(assay, "--k", "4")
    ran = assay("judge", "--replay", "run.parquet", "--k-sweep", "--bootstrap", "20")
    header = ran.out[ran.out.index(" k verdicts") :]
    assert header.startswith(
        " k verdicts best on top 95 % resampled of resamples as ties were settled ties votes dropped"
    )
    assert assay("judge", "--replay", "run.parquet", "--k-sweep", "--bootstrap", "20", "--fresh").out.endswith(
        header.split("dropped", 1)[1]
    )
    plain = assay("judge", "--replay", "run.parquet", "--bootstrap", "20")
    assert "best on top over 20 resamples of 4 votes: mean" in plain.out


def test_a_replay_with_another_meta_rm_and_without_one(assay) -> None:  # type: ignore[no-untyped-def]
    judge(assay, "--k", "4", "--meta", "rm", "--meta-options", '{"kind": "fake"}')
    other = '{"kind": "fake", "seed": 1}'
    assay("judge", "--replay", "run.parquet", "--meta", "rm2", "--meta-options", other, "-o", "rm2.parquet")
    rows = {path: read_results(path) for path in ("run.parquet", "rm2.parquet")}
    metas = [[row.meta for row in found if row.ok] for found in rows.values()]
    assert all(one != other for one, other in zip(*metas, strict=True))
    assay("judge", "--replay", "run.parquet", "--meta", "none", "-o", "plain.parquet")
    judge(assay, "--k", "4", out="voted.parquet")
    assert decisions("plain.parquet") == decisions("voted.parquet")


def test_two_runs_compared(assay) -> None:  # type: ignore[no-untyped-def]
    judge(assay, "--k", "8")
    assay("judge", "--replay", "run.parquet", "--k", "1", "-o", "one.parquet")
    ran = assay("judge", "--diff", "one.parquet", "run.parquet", "--examples", "2", "--report", "diff.html")
    assert ran.out.startswith("judgments in both 30")
    assert "choice flipped" in ran.out
    assert "against gold:" in ran.out
    assert "more changes: --examples shows more of them" in ran.out
    page = Path("diff.html").read_text()
    assert "What changed" in page
    assert "<script" not in page
    made: list[ResultRow] = judgments(read_results("one.parquet"))
    assert len(made) == 30
    assert "needs the run to compare it with" in assay("judge", "--diff", "one.parquet", expect=2).err


def test_no_file_at_all(assay) -> None:  # type: ignore[no-untyped-def]
    assert "name the FILE to judge" in assay("judge", expect=2).err
