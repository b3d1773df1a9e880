"""Real processes that are killed, stopped and garbled while requests run: nothing is lost, nothing is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "chaos.py"


def chaos(*arguments: str) -> None:
    """The benchmark checks itself: its exit status is 1 when anything was lost, wrong or told too late."""
    command = [sys.executable, "-W", "error", str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_kills_and_a_bad_wake_lose_nothing() -> None:
    chaos("--requests", "600", "--kills", "3", "--only", "kill -9", "garbage after wake")


@pytest.mark.slow
def test_twenty_kills_in_five_thousand_requests_lose_nothing() -> None:
    chaos("--only", "kill -9", "hang (SIGSTOP)")


@pytest.mark.slow
def test_control_calls_that_fail_lose_nothing() -> None:
    chaos("--requests", "2000", "--only", "the same, reload fails", "502 on sleep", "502 on wake")
