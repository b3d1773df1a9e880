"""The recipes for machines without a GPU, run as a user runs them: from the root of the repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .commands import ROOT


def trained(run: Path, *said: str) -> list[dict[str, float]]:
    """The metrics of the steps."""
    command = [sys.executable, "-m", "assay", "train", *said, "--run-dir", str(run), "--tracker", "none"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=840)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["step"] >= 0]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_laptop_recipe(tmp_path: Path) -> None:
    run = tmp_path / "run"
    steps = trained(run, "-c", "recipes/laptop.toml", "--num-rollout", "2", "--rollout-batch-size", "2")
    assert [line["step"] for line in steps] == [0, 1]
    assert (run / "report.html").is_file()
    answers = pq.read_table(run / "samples").to_pylist()
    assert len(answers) == 2 * 2 * 4
    assert {row["reward"] for row in answers} <= {0.0, 1.0}
    assert (run / "eval" / "held-out").is_dir()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_agentic_recipe(tmp_path: Path) -> None:
    run = tmp_path / "run"
    small = ("--num-rollout", "2", "--n-samples-per-prompt", "2", "--rollout-max-response-len", "32")
    steps = trained(run, "-c", "recipes/agentic.toml", *small)
    assert [line["step"] for line in steps] == [0, 1]
    answers = pq.read_table(run / "samples").to_pylist()
    assert len(answers) == 2 * 2 * 2
    for row in answers:
        told = json.loads(row["parts"])["steps"]
        assert [step["module"] for step in told] == ["plan", "tool_call", "final_answer"]
        assert row["reward"] == pytest.approx(sum(step["score"] for step in told) / 3)
        assert {name.partition("-")[0] for name in row["judge"].split(", ")} == {"tokenprob", "math"}
