"""``assay audit`` as a process: a card, results that are gone on with, exit codes, and the default judge."""

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


def assay(*arguments: str, cwd: Path, expect: int = 0, timeout: float = 110) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments], cwd=cwd, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def first_place(**options: object) -> list[str]:
    """A judge that names the first answer it is shown."""
    return [
        "--judge",
        "pairwise",
        "--engine",
        "fake",
        "--engine-options",
        json.dumps({"default": "\\boxed{1}", **options}),
    ]


def section(card: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    found = next(one for one in card["sections"] if one["name"] == name)
    return {figure["name"]: figure for figure in found["figures"]}


def test_a_judge_that_takes_the_first_place(tmp_path: Path) -> None:
    arguments = ["audit", *first_place(), "--items", "16", "--attack-items", "1", "-o", "card"]
    done = assay(*arguments, cwd=tmp_path)
    assert "the bundled questions: 107 items" in done.stdout
    assert "finding: verdicts change when the answers change places, and it is the first place that wins" in done.stdout
    assert "judge card: card/card.html" in done.stdout
    card = json.loads((tmp_path / "card/card.json").read_text())
    changed = section(card, "order")["verdict changes with the order"]
    assert (changed["value"], changed["n"], changed["failed"]) == (1.0, 16, 0)
    assert section(card, "repeats")["the same verdict every time"]["value"] == 1.0
    assert card["sampling"]["temperature"] == 0.0
    assert (tmp_path / "card/card.md").read_text().startswith("# Judge card: pairwise · fake\n")
    again = assay(*arguments, cwd=tmp_path)
    assert json.loads((tmp_path / "card/card.json").read_text()) == card
    assert "0 failed · 0 calls saved" in again.stdout


def test_what_is_skipped_is_named_and_told_by_the_exit_code(tmp_path: Path) -> None:
    rows = [
        {"id": "pair", "prompt": "1 + 1?", "candidates": ["2", "3"], "gold": [1, 0]},
        {"id": "lone", "prompt": "1 + 1?", "candidates": ["2"], "gold": [1]},
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    done = assay("audit", "own.jsonl", *first_place(), "--parts", "order,length", cwd=tmp_path, expect=1)
    assert "skipped line 3: broken JSON" in done.stdout
    assert "skipped item lone: the judge can take it in no form: item 'lone' has 1 candidate" in done.stdout
    card = json.loads((tmp_path / "audit/card.json").read_text())
    assert card["skipped"] == ["line 3", "lone"]
    assert card["items"] == 1


def test_a_judge_that_never_answers_is_told_by_the_exit_code(tmp_path: Path) -> None:
    said = ["--items", "2", "--attack-items", "1", "--parts", "order"]
    done = assay("audit", *first_place(default="no verdict"), *said, cwd=tmp_path, expect=1)
    assert "judge card" in done.stdout
    card = json.loads((tmp_path / "audit/card.json").read_text())
    assert card["failures"] == {"parse_error": card["judgments"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--parts", "smell"], "parts"),
        (["bare.jsonl", "--judge", "math", "--engine", "rule"], "none of the 2 items: 2 because the item has no refer"),
        (["bare.jsonl", "--judge", "pointwise", "--annotators", "an"], "did you mean 'ann'"),
        (["--repeats", "1"], "repeats"),
        (["none.jsonl"], "no such file"),
        (["--annotators", "ann", "--judge", "nobody"], "unknown judge 'nobody'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(tmp_path: Path, arguments: list[str], said: str) -> None:
    bare = [{"id": f"b{i}", "prompt": "q", "candidates": ["a", "b"], "ann": "A"} for i in range(2)]
    (tmp_path / "bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    done = assay("audit", "--engine", "fake", *arguments, cwd=tmp_path, expect=2)
    assert said in done.stderr
    assert not (tmp_path / "audit").exists()


def test_kill_9_in_the_middle_is_gone_on_from(tmp_path: Path) -> None:
    arguments = ["audit", *first_place(latency_s=0.05), "--concurrency", "2", "-o", "card"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    journal = tmp_path / "card/probes.parquet.journal.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < 30):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = [json.loads(line) for line in journal.read_text().splitlines()[1:-1]]
    assay(*arguments, cwd=tmp_path)
    import pyarrow.parquet as pq

    rows = {row["item_id"]: row for row in pq.read_table(tmp_path / "card/probes.parquet").to_pylist()}
    assert len(before) > 20
    assert all(rows[row["item_id"]]["time"] == row["time"] for row in before)
    assert not journal.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_default_judge_has_a_card(tmp_path: Path) -> None:
    arguments = ["--items", "20", "--attack-items", "1", "--repeat-items", "3", "--repeats", "2"]
    assay("audit", "--judge", "verifier", *arguments, cwd=tmp_path, timeout=800)
    card = json.loads((tmp_path / "audit/card.json").read_text())
    assert card["items"] == 20
    assert card["model"]
    assert section(card, "repeats")["the same verdict every time"]["value"] == 1.0, "greedy texts repeat themselves"
    assert section(card, "attacks")["accepted"]["n"] > 0
    assert section(card, "agreement")["right answers above wrong ones (AUC)"]["n"] > 20
    assert section(card, "agreement")["right answers above wrong ones (AUC)"]["value"] > 0.7, "it has its adapter"
