from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.tracking.lines import MetricLines, read_lines


def _write(run: Path, *steps: int) -> MetricLines:
    lines = MetricLines(run)
    for step in steps:
        lines.write(step, {"reward/mean": step / 10})
    return lines


def test_a_step_is_a_line(tmp_path: Path) -> None:
    lines = _write(tmp_path / "run", -1, 0, 1)
    assert [json.loads(line) for line in lines.path.read_text().splitlines()] == [
        {"step": -1, "reward/mean": -0.1},
        {"step": 0, "reward/mean": 0.0},
        {"step": 1, "reward/mean": 0.1},
    ]


def test_numbers_that_are_not_finite_are_null(tmp_path: Path) -> None:
    lines = MetricLines(tmp_path)
    lines.write(0, {"a": math.nan, "b": math.inf, "c": 1.0})
    assert read_lines(lines.path) == [{"step": 0, "a": None, "b": None, "c": 1.0}]


def test_a_resumed_run_writes_its_steps_anew(tmp_path: Path) -> None:
    lines = _write(tmp_path, -1, 0, 1, 2, 3)
    assert lines.resume(2) == 1
    _write(tmp_path, 2)
    assert [line["step"] for line in read_lines(lines.path)] == [-1, 0, 1, 2]
    assert lines.resume(0) == -1
    assert MetricLines(tmp_path / "new").resume(5) is None


@settings(max_examples=30)
@given(cut=st.integers(1, 40), step=st.integers(0, 4))
def test_a_line_that_a_kill_cut_off_counts_as_not_written(
    tmp_path_factory: pytest.TempPathFactory, cut: int, step: int
) -> None:
    lines = _write(tmp_path_factory.mktemp("run"), 0, 1, 2)
    whole = lines.path.read_bytes()
    lines.path.write_bytes(whole[:-cut])
    left = [one["step"] for one in read_lines(lines.path)]
    assert left == list(range(whole[:-cut].count(b"\n")))
    assert lines.resume(step) == max((one for one in left if one < step), default=None)
    lines.write(7, {})
    assert [one["step"] for one in read_lines(lines.path)] == [*(one for one in left if one < step), 7]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    lines = _write(tmp_path, 0)
    # A limit on the size of files is what a full disk is to a write: part of the line goes through.
    code = (
        "import resource, signal, sys; from pathlib import Path; from assay.tracking.lines import MetricLines;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); room = int(sys.argv[2]);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (room, room));"
        "MetricLines(Path(sys.argv[1])).write(1, {'reward/mean': 0.123456789})"
    )
    room = str(lines.path.stat().st_size + 10)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), room], capture_output=True, text=True, check=False
    )
    assert "OutputError: cannot write" in done.stderr
    assert "the same command again" in done.stderr
    assert [line["step"] for line in read_lines(lines.path)] == [0]
    _write(tmp_path, 1)
    assert [line["step"] for line in read_lines(lines.path)] == [0, 1]


@pytest.mark.parametrize("text", ["{]\n", "[1]\n", '{"reward": 1}\n'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="line 1"):
        read_lines(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"metrics\.jsonl"):
        read_lines(tmp_path / "metrics.jsonl")
