"""``metrics.jsonl``: a line a step, which is the record of a run that every table and curve is made from.

A line that a kill cut off counts as not written; a step that is made again replaces its line. The baseline, before the
first step, is step -1. Owns: the file. Does not own: what the numbers mean (``measures``, ``evaluation``, ``monitor``).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from assay.core.errors import InputError
from assay.core.files import cannot_write, write_all, write_whole

NAME = "metrics.jsonl"
TOLD = "metrics.told"
"""The last step that ever had a line, written where lines are cut off: trackers were told it."""
BASELINE = -1
"""The step of what was measured before the first one."""
FIX = "checkpoints are untouched: free some space and give the same command again, it goes on"
"""What to do where a record of a run cannot be written."""


class MetricLines:
    """The lines of one run. ``write`` appends; a step below or at one that is there is an error of the caller's."""

    def __init__(self, run: Path) -> None:
        self.path = run / NAME

    def last(self) -> int | None:
        """The last step that has a line; None where none has."""
        return max((int(line["step"]) for line in read_lines(self.path)), default=None) if self.path.exists() else None

    def told(self) -> int | None:
        """The last step that has a line, or had one before it was cut off."""
        mark, last = self.path.with_name(TOLD), self.last()
        before = [int(mark.read_text())] if mark.exists() else []
        return max((*before, *([] if last is None else [last])), default=None)

    def resume(self, step: int) -> int | None:
        """Cut off all lines of ``step`` and later, and a last line that is not whole; the last step that is left.

        Raises:
            OutputError: the file cannot be written.
        """
        lines, told = read_lines(self.path) if self.path.exists() else [], self.told()
        kept = [line for line in lines if line["step"] < step]
        if len(kept) < len(lines):
            write_whole(self.path.with_name(TOLD), str(told), durable=True, fix=FIX)
        write_whole(self.path, b"".join(map(_encoded, kept)), durable=True, fix=FIX)
        return int(kept[-1]["step"]) if kept else None

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append the line of a step; it is whole and on the disk when this returns, or not there at all.

        Raises:
            OutputError: the disk is full or may not be written to.
        """
        line = _encoded({"step": step, **metrics})
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                before = file.tell()
                try:
                    write_all(file.fileno(), line)
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(before)
                    raise
        except OSError as error:
            raise cannot_write(self.path, error, fix=FIX) from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines, each with its ``step``; numbers that were not finite are None. A cut-off last line is left out.

    Raises:
        InputError: there is no such file, or it is no file of metrics.
    """
    lines, broken = _decoded(_bytes(path))
    if broken:
        raise InputError(f"{str(path)!r}, {broken[0]}")
    return lines


def readable_lines(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """As ``read_lines``, for who only looks: the lines that can be read, and what is wrong with the others.

    Raises:
        InputError: there is no such file.
    """
    return _decoded(_bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _decoded(data: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines, and which of them are none; a last one without its end is being written, or was cut off by a kill."""
    lines: list[dict[str, Any]] = []
    broken: list[str] = []
    for number, text in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            line = json.loads(text)
        except ValueError:
            broken.append(f"line {number} is no JSON: {text[:60]!r}")
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            lines.append(cast("dict[str, Any]", line))
        else:
            broken.append(f"line {number} has no step: it is no line of metrics")
    return lines, broken


def _encoded(line: Mapping[str, Any]) -> bytes:
    """JSON has no NaN and no infinities: they are null, and the names stay."""
    finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in line.items()}
    return json.dumps(finite, allow_nan=False).encode() + b"\n"
