"""One command of a stage as a process of its own: its memory is free when it ends, and it ends when we do, however.

Owns: the process, its log, its time. Does not own: which command, and what its end means (``spct_run``).
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import OutputError, StartError
from assay.core.files import write_whole
from assay.engines.sglang.process import GUARD

GRACE_S = 20.0
"""How long a command that is to end may take to do so."""
PID = ".pid"
"""The end of the name of the file with the process that runs a command, or ran it last."""
_TAIL = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended. ``stopped``: it was told to, because its time was over."""

    code: int
    seconds: float
    stopped: bool


def command_line(words: Sequence[str]) -> str:
    """A command as a shell takes it."""
    return shlex.join(("assay", *words))


async def run_command(words: Sequence[str], log: Path, most_s: float | None) -> Ended:
    """Run ``assay`` with these words; what it says goes behind what is in ``log``.

    Args:
        most_s: seconds after which it is told to end; None: never.

    Raises:
        OutputError: the log cannot be written.
    """
    begin = time.monotonic()
    await _gone(log.with_suffix(PID))
    process = await _launch(words, log)
    stopped = False
    try:
        async with asyncio.timeout(most_s):
            await process.wait()
    except TimeoutError:
        stopped = True
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))
    assert process.returncode is not None, "both ways out of the block wait for its end"
    return Ended(code=process.returncode, seconds=time.monotonic() - begin, stopped=stopped)


def tail(log: Path, lines: int = _TAIL) -> str:
    """The last lines of a log."""
    try:
        text = log.read_text("utf-8", "replace")
    except OSError as error:
        return f"(the log {str(log)!r} cannot be read: {error.strerror})"
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


async def _launch(words: Sequence[str], log: Path) -> asyncio.subprocess.Process:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        stream = log.open("ab")
    except OSError as error:
        raise OutputError(f"the log {str(log)!r} cannot be written: {error.strerror}") from error
    with stream:
        stream.write(f"$ {command_line(words)}\n".encode())
        stream.flush()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(GUARD), str(GRACE_S)),
            *(sys.executable, "-m", "assay", *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    write_whole(log.with_suffix(PID), str(process.pid))
    return process


async def _gone(path: Path) -> None:
    """Wait for what an earlier call left behind: a command whose caller was killed takes a moment to end.

    Raises:
        StartError: it does not end.
    """
    pid = await asyncio.to_thread(_pid, path)
    until = time.monotonic() + GRACE_S + 10
    while _is_guard(pid):
        if time.monotonic() > until:
            raise StartError(
                f"the command of an earlier call still runs (process {pid}): end it, and give this one again"
            )
        await asyncio.sleep(0.2)


def _pid(path: Path) -> str:
    return path.read_text("utf-8").strip() if path.exists() else ""


def _is_guard(pid: str) -> bool:
    if not pid:
        return False
    try:
        return str(GUARD).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()  # The guard sees that nobody needs the command any more.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S + 10):
            await process.wait()
            return
    process.kill()
    await process.wait()
