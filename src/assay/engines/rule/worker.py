"""The child process: one question a line on stdin, one reply a line on a copy of stdout, until stdin ends.

``python -P -m assay.engines.rule.worker TIMEOUT_S MEMORY_MB``. The kernel keeps the limits, so that code which is stuck
inside C, or catches every exception, cannot outlive them: an interval timer with its default action ends the process,
and the address space is bounded. The parent reads the cause of death off the exit status.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from .rules import RULES

EXIT_MEMORY = 3
"""Exit status of a child that needed more memory than it may have."""
HARD_LIMIT_FACTOR = 3
"""The kernel refuses memory at this multiple of the bound.

sympy catches MemoryError, and math-verify then says "not equal", which nobody has shown. So the bound is checked after
each answer, and the hard limit lies so far above it that numbers which grow by squaring pass the bound before it.
"""
_PR_SET_PDEATHSIG = 1


def main(timeout_s: float, memory_mb: int) -> None:
    """Serve until stdin ends."""
    replies = _take_over_stdout()
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _bound_memory(memory_mb)
    for rule in RULES.values():
        rule.warm()
    sys.excepthook = _report_to(replies)
    _reply(replies, {"ready": True})
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        question = json.loads(line)
        try:
            text = RULES[question["rule"]].answer(question["arguments"])
        except MemoryError:
            os._exit(EXIT_MEMORY)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _peak_mb() > memory_mb:
            os._exit(EXIT_MEMORY)
        _reply(replies, {"text": text})


def _reply(replies: BinaryIO, message: dict[str, object]) -> None:
    replies.write(json.dumps(message).encode() + b"\n")
    replies.flush()


def _take_over_stdout() -> BinaryIO:
    """The pipe to the parent; whatever prints from here on (ANTLR does) goes nowhere."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return replies


def _report_to(replies: BinaryIO) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """An exception that nobody catches ends the child; this tells the parent which one it was."""

    def report(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
        _reply(replies, {"error": f"{kind.__name__}: {error}"[:500]})

    return report


def _die_with_parent() -> None:
    """Have the kernel end this process when the parent is killed; without Linux the end of stdin has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _bound_memory(memory_mb: int) -> None:
    limit = HARD_LIMIT_FACTOR * memory_mb << 20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _peak_mb() -> float:
    """The most address space this process ever had, in MiB; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if sys.platform != "linux":
        return 0.0
    peak = next(line for line in status.read_bytes().splitlines() if line.startswith(b"VmPeak:"))
    return int(peak.split()[1]) / 1024


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
