"""``assay sft`` and ``assay rm`` at the command line: recipes, what they print, and what they refuse with one line."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli.fit_progress import fitting_progress
from assay.report.curves import panels
from assay.report.training import read_training
from assay.report.training_page import training_page
from assay.report.training_table import training_table
from assay.tracking.lines import MetricLines
from assay.training.fit.loop import FitResult


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_a_recipe_stands_under_the_flags(tmp_path: Path) -> None:
    recipe = tmp_path / "rm.toml"
    recipe.write_text('kind = "bt"\ndata = "pairs.jsonl"\nlr = 0.5\nmargin = "gold"\n')
    done = assay("rm", "-c", str(recipe), "--lr", "0.25", "--dump-config")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["kind"], told["lr"], told["margin"], told["lr_decay_style"]) == ("bt", 0.25, "gold", "cosine")
    assert "recipe" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sft", "--data", "absent.jsonl"], "no such file: 'absent.jsonl'"),
        (["sft", "--data", "x", "--lr-warmup-minutes", "1"], "lr_warmup_minutes needs minutes"),
        (["rm", "--kind", "pairrm", "--data", "x", "--margin", "gold"], "margin and center are of bt and cloud"),
    ],
)
def test_wrong_input_is_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = assay(*arguments, "--run-dir", str(tmp_path / "run"), "--hf-checkpoint", str(_model(tmp_path)))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def _model(folder: Path) -> Path:
    """A folder that is enough of a model to look for its data."""
    from tests.training.words import save_words

    return save_words(folder / "model", "ab")


def fit_folder(tmp_path: Path) -> Path:
    lines = MetricLines(tmp_path)
    lines.write(-1, {"eval/held_out/loss": 0.6931, "eval/held_out/accuracy": 0.5})
    for step in range(3):
        lines.write(step, {"train/loss": 0.6 - 0.1 * step, "train/accuracy": 0.5, "train/lr": 1e-5, "time/train": 2.0})
    lines.write(3, {"train/loss": 0.3, "train/lr": 0.0, "eval/held_out/loss": 0.25, "eval/held_out/accuracy": 0.9})
    return tmp_path


def test_the_report_of_a_fit_is_about_its_loss(tmp_path: Path) -> None:
    run = read_training(fit_folder(tmp_path))
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(training_table(run))
    text = console.export_text()
    assert "held-out loss      0.6931  0.2500  -0.4431" in text
    assert "held-out accuracy  50.0 %  90.0 %" in text
    assert "answers" not in text
    assert [panel.title for panel in panels(run)][:3] == ["Loss", "Accuracy", "Learning rate"]
    assert "held out from 0.6931 to 0.25" in training_page(run).replace("0.693 ", "0.6931 ")


def test_lines_come_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    result = FitResult(total=100)
    with fitting_progress(Console(width=200), result) as tell:
        tell(-1, {"eval/held_out/loss": 0.5})
        for step in range(100):
            tell(step, {"train/loss": 0.25})
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["baseline · held-out loss 0.5000", "step 100/100 · loss 0.2500"] or len(lines) == 3
