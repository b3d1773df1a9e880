"""``assay train`` as a process that is killed with ``kill -9``, and gone on with; see ``benchmarks/kill_resume.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "kill_resume.py"

pytestmark = pytest.mark.slow


def kill(folder: Path, mode: str, kills: int, *more: str) -> str:
    """Kill runs of a mode; what was printed. Status 0: nothing differs, and no process outlived its run."""
    command = [sys.executable, str(BENCHMARK), "--mode", mode, "--kills", str(kills), "--out", str(folder), *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", ["now", "defer-swap"])
def test_a_killed_run_ends_as_one_that_was_not(tmp_path: Path, mode: str) -> None:
    told = kill(tmp_path, mode, 4)
    assert "4 kills so far: metrics, samples, weights, checkpoint" in told


@pytest.mark.timeout(900)
def test_where_rollouts_run_ahead_nothing_is_doubled_lost_or_stale(tmp_path: Path) -> None:
    told = kill(tmp_path, "fully-async", 4)
    assert "4 kills so far: each step once, trained once, none lost, staleness" in told


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", ["ray-co-resident", "ray-fully-async"])
def test_on_ray_what_a_driver_started_dies_with_it(tmp_path: Path, mode: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    assert "1 kills so far" in kill(tmp_path, mode, 1, "--driver-only", "--seed", "1")
