"""The server's processes: started in a group of their own behind ``guard``, logged to a file, ended as one.

Owns the processes and the log file. Does not own whether the server answers (``starting``, ``watch``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import StartError

from .family import Fault, essential, find_fault, members

GUARD = Path(__file__).with_name("guard.py")
_TAIL_BYTES = 16 << 10
_TAIL_LINES = 15
_EXIT_S = 5.0


def free_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """A server and all that it starts. ``ended`` is set once the server's own process is gone, however it went."""

    def __init__(
        self, process: asyncio.subprocess.Process, log_file: Path, stop_s: float, *, log_begin: int = 0
    ) -> None:
        self._process = process
        self._stop_s = stop_s
        self._essential: frozenset[int] = frozenset()
        self._log_begin = log_begin
        self.log_file = log_file
        self.ended = asyncio.Event()
        self._waiting = asyncio.create_task(self._wait())

    @classmethod
    async def launch(
        cls, command: Sequence[str], env: dict[str, str], log_file: Path | None, stop_s: float
    ) -> ServerProcess:
        """Raises StartError: the log file cannot be written, or the guard cannot be run."""
        try:
            if log_file is None:
                handle, name = tempfile.mkstemp(prefix="assay-sglang-", suffix=".log")
                log_file = Path(name)
            else:
                log_file.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise StartError(f"the log file {str(log_file)!r} cannot be written: {error.strerror}") from error
        log_begin = os.fstat(handle).st_size
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(GUARD), str(stop_s), *command),
                stdin=asyncio.subprocess.PIPE,
                stdout=handle,
                stderr=handle,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise StartError(f"{command[0]!r} cannot be run: {error.strerror}") from error
        finally:
            os.close(handle)
        return cls(process, log_file, stop_s, log_begin=log_begin)

    @property
    def pids(self) -> frozenset[int]:
        """All processes of the group but the guard."""
        return frozenset(members(self._process.pid)) - {self._process.pid}

    @property
    def cause(self) -> str:
        """How the server ended, in words."""
        status = self._process.returncode
        if status is None:
            return "still runs"
        number = -status if status < 0 else status - 128
        known = {each.value: each.name for each in signal.Signals}
        return f"was ended by {known[number]}" if number in known else f"ended with status {status}"

    def settle(self) -> None:
        """Take note of the processes that make up the ready server; from now on ``fault`` misses each of them."""
        self._essential = essential(self._process.pid, self._process.pid)

    def fault(self) -> Fault | None:
        """What is wrong with the processes now; None when nothing is."""
        if self.ended.is_set() or self._process.returncode is not None:
            return Fault(detail=f"the server {self.cause}", dead=True)
        return find_fault(self._essential)

    def tail(self) -> str:
        """The last lines of the server's own log; an earlier server's lines in the same file are left out."""
        try:
            with self.log_file.open("rb") as stream:
                stream.seek(max(self._log_begin, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
                lines = stream.read().decode("utf-8", "replace").splitlines()
        except OSError as error:
            return f"(the log {str(self.log_file)!r} cannot be read: {error.strerror})"
        return "\n".join([line for line in lines if line.strip()][-_TAIL_LINES:])

    async def stop(self) -> None:
        """Let the server end by itself for ``stop_s``, then kill it; returns once nothing of it is left."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._stop_s + _EXIT_S):
                await self.ended.wait()
        await self.kill()

    async def kill(self) -> None:
        """End all processes of the group at once; returns once nothing of it is left."""
        self.strike()
        await asyncio.shield(self._waiting)

    def strike(self) -> None:
        """End all processes of the group at once, without waiting for it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _wait(self) -> None:
        await self._process.wait()
        # Without a guard, whatever is left of the group has nobody to end it.
        self.strike()
        self.ended.set()
