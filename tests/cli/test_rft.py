"""``assay rft``: what it writes, a SIGKILL in the middle of a real process, wrong flags."""

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
from pydantic import ValidationError

from assay.cli.rft import RftFlags
from assay.cli.rft_run import build_rft
from assay.core.errors import InputError

ENGINE = {"replies": ["\\boxed{8, 3}", "\\boxed{3, 8}", "\\boxed{1}", "\\boxed{0}", "no verdict"]}
SLOW = {**ENGINE, "latency_s": 0.05, "latency_spread": 0.5}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pairs, single candidates and prompts, in the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"p{i}", "prompt": f"Question {i}?", "candidates": [f"good {i}", f"bad {i}"], "gold": [1, 0]}
        for i in range(30)
    ]
    rows += [{"id": f"s{i}", "prompt": f"Right {i}?", "candidates": ["yes"], "gold": [i % 2]} for i in range(10)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "general.jsonl").write_text("".join(json.dumps({"prompt": f"Say {i}."}) + "\n" for i in range(40)))
    return tmp_path


def run(out: str, **more: Any) -> None:
    said: dict[str, Any] = {"engine": "fake", "engine_options": ENGINE, "general": "general.jsonl", "ratio": 0.5}
    build_rft(RftFlags(items=("items.jsonl",), out=Path(out), **(said | more)))


def killed_at(folder: Path, journal: str) -> None:
    """The same build as a process of its own, killed as soon as ``journal`` holds a few rows."""
    said = ["--engine", "fake", "--engine-options", json.dumps(SLOW), "--concurrency", "4"]
    general = ["--general", "general.jsonl", "--ratio", "0.5"]
    running = subprocess.Popen(
        [sys.executable, "-m", "assay", "rft", "items.jsonl", "-o", "cut", *said, *general],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    path = folder / "cut" / f"{journal}.journal.jsonl"
    while running.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") > 3):
        time.sleep(0.005)
    assert running.poll() is None, f"the build ended before it wrote {journal}"
    os.kill(running.pid, signal.SIGKILL)
    running.wait(timeout=60)
    assert path.exists()
    assert not (folder / "cut" / "sft.jsonl").exists()


def test_a_kill_in_the_middle_changes_no_byte(folder: Path) -> None:
    """SIGKILL within the samples, the hinted samples and the answers; what goes on ends like one left alone."""
    run("whole")
    for journal in ("samples.parquet", "samples.hinted.parquet", "general.parquet"):
        killed_at(folder, journal)
    run("cut")
    for name in ("sft.jsonl", "rl.jsonl", "report.json", "report.md"):
        assert (folder / "cut" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
    rows = [json.loads(line) for line in (folder / "cut" / "sft.jsonl").read_text().splitlines()]
    assert {row["task"] for row in rows} == {"judge", "general"}
    assert {row["hinted"] for row in rows} == {True, False}
    assert {row["source"] for row in rows} == {"items", "general"}
    assert "self-distilled" in (folder / "cut" / "report.md").read_text()


def test_the_same_again_asks_nobody_and_another_share_only_what_is_new(folder: Path) -> None:
    run("out")
    first = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    run("out")
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == first
    run("out", ratio=1.0)
    assert (folder / "out" / "samples.parquet").read_bytes() == first["samples.parquet"]
    assert len((folder / "out" / "sft.jsonl").read_bytes()) > len(first["sft.jsonl"])


def test_prompts_alone_ask_nobody_and_leave_out_what_another_run_finds_too_easy(folder: Path) -> None:
    run("plain", prompts_only=True, general=None, ratio=0)
    assert [path.name for path in (folder / "plain").iterdir()] == ["rl.jsonl"]
    assert len((folder / "plain" / "rl.jsonl").read_text().splitlines()) == 40
    run("sampled", engine_options={"replies": ["\\boxed{1}"]}, general=None, ratio=0, keep_easy=True)
    run("left", prompts_only=True, easy_from=Path("sampled"), general=None, ratio=0)
    rows = [json.loads(line) for line in (folder / "left" / "rl.jsonl").read_text().splitlines()]
    # Always 1: right of the five single candidates with gold 1, which are too easy.
    assert {row["metadata"]["item"] for row in rows if row["metadata"]["item"].startswith("s")} == {
        f"s{i}" for i in range(0, 10, 2)
    }
    assert len(rows) == 35
    with pytest.raises(InputError, match="no samples"):
        run("left", prompts_only=True, easy_from=Path("nowhere"), general=None, ratio=0)


def test_nothing_kept_is_an_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("out", engine_options={"replies": ["no verdict"]}, general=None, ratio=0)
    assert ended.value.code == 1
    assert "Of the samples 120 unreadable." in capsys.readouterr().out
    assert (folder / "out" / "sft.jsonl").read_text() == ""


def test_items_that_are_skipped_are_an_exit_code_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "items.jsonl").open("a") as file:
        file.write(json.dumps({"id": "even", "prompt": "q", "candidates": ["a", "b"], "gold": [1, 1]}) + "\n")
    with pytest.raises(SystemExit) as ended:
        run("out", general=None, ratio=0)
    assert ended.value.code == 1
    assert "skipped item 'even': no candidate is worse than the best" in capsys.readouterr().out
    assert (folder / "out" / "sft.jsonl").read_text()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"ratio": 0}, "--general and --ratio go together"),
        ({"mode": "0-1"}, "is taken by itself"),
        ({"judge": "math", "engine": "rule", "engine_options": {}}, "none of the items can be sampled"),
        ({"engine": "service"}, "without a hint"),
        ({"general": "nowhere.jsonl"}, "no such file"),
    ],
)
def test_wrong_flags_are_refused(folder: Path, said: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run("out", **said)


def test_wrong_inputs_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="name the ITEMS"):
        build_rft(RftFlags(engine="fake"))
    with pytest.raises(ValidationError, match="too easy"):
        run("out", n=1)
    run("out")
    with pytest.raises(InputError, match="different run"):
        run("out", n=4)
    (folder / "bare.jsonl").write_text('{"prompt": "q", "candidates": ["a", "b"]}\n')
    with pytest.raises(InputError, match="gold"):
        build_rft(RftFlags(engine="fake", items=("bare.jsonl",)))


@pytest.mark.parametrize("name", ["sft.jsonl", "rl.jsonl", "general.parquet"])
def test_what_the_build_writes_may_not_be_what_it_reads(folder: Path, name: str) -> None:
    (folder / "out").mkdir()
    (folder / "out" / name).write_text('{"prompt": "q"}\n')
    with pytest.raises(InputError, match=rf"in --out 'out/{name}' is the input itself"):
        build_rft(RftFlags(engine="fake", items=(f"./out/{name}",), out=Path("out")))
    with pytest.raises(InputError, match=rf"in --out 'out/{name}' is the input itself"):
        run("out", general=f"out/../out/{name}", ratio=1)
    assert (folder / "out" / name).read_text() == '{"prompt": "q"}\n'


def test_votes_that_another_folder_holds_are_not_asked_again(folder: Path) -> None:
    run("first", general=None, ratio=0.0)
    nobody = {**ENGINE, "replies": ["never said"]}
    run("second", general=None, ratio=0.0, recorded=Path("first"), engine_options=nobody)
    assert (folder / "second/sft.jsonl").read_bytes() == (folder / "first/sft.jsonl").read_bytes()
    with pytest.raises(InputError, match="holds no samples of assay rft"):
        run("third", recorded=folder)
