"""A meta RM from recorded judgments to its use by ``assay judge --meta``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.data import read_results
from assay.training.fit.loop import FitResult
from assay.training.fit.run import Fitted, run_fit
from assay.training.heads.config import HeadConfig
from assay.training.heads.task import load_task

from .conftest import preferences

Make = Callable[..., HeadConfig]


def assay(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "assay", *arguments], capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_judge_fit_and_judge_again(config: Make, tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    pairs = [{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in preferences(80)]
    items.write_text("".join(json.dumps(row) + "\n" for row in pairs))
    judged, again = tmp_path / "judged.parquet", tmp_path / "again.parquet"
    # A judge that guesses, but says which way: what it says tells whether it is right once the order is seen.
    fake = json.dumps({"replies": ["right \\boxed{9, 1}", "wrong \\boxed{1, 9}"]})
    assay("judge", str(items), "--engine", "fake", "--engine-options", fake, "--k", "2", "--out", str(judged))
    votes = read_results(judged)
    assert len(votes) == 160
    assert {row.outcome for row in votes} == {"verdict"}

    own = config("meta", data=str(judged), epochs=6, eval_share=0.2)
    result = FitResult()

    def make() -> Fitted:
        task, policy = load_task(own)
        return Fitted(task=task, policy=policy)

    run_fit(own, make, result)
    assert result.done
    meta = str(own.run_dir / "model")
    told = ("--engine", "fake", "--engine-options", fake, "--k", "2", "--k-meta", "1", "--meta", meta)
    assay("judge", str(items), *told, "--out", str(again))
    found = read_results(again)
    assert all(row.meta is not None for row in found)
    assert sum(row.kept for row in found) == 80
    kept: dict[str, Any] = {row.item_id: row for row in found if row.kept}
    for row in found:
        assert (row.meta or 0.0) <= (kept[row.item_id].meta or 0.0)
