"""The parent's end of a host process: start it, know how it ended, kill it with all that it started.

Owns the process, its socket's place and its log. Does not own what is said over the socket (``engine``).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path

from assay.core.errors import StartError

from .codec import encode
from .config import HostedConfig

_TAIL_BYTES = 4000
_TAIL_LINES = 15


class HostProcess:
    """One running host. Belongs to one event loop."""

    def __init__(self, process: Process, folder: Path, log_file: Path) -> None:
        self._process = process
        self._folder = folder
        self._log_file = log_file
        self._watch = asyncio.ensure_future(self._wait())

    @classmethod
    async def spawn(cls, config: HostedConfig) -> HostProcess:
        """A process that has been told what to run. Raises StartError."""
        folder = Path(tempfile.mkdtemp(prefix="assay-host-"))
        log_file = config.log_file or folder / "log"
        try:
            with socket.socket(socket.AF_UNIX) as listener, log_file.open("ab") as log:
                # Bound here, so that it can be connected to before the child has imported anything. The parent's copy
                # is closed at once: then a dead child refuses connections instead of leaving them in the queue.
                listener.bind(str(folder / "socket"))
                listener.listen()
                process = await asyncio.create_subprocess_exec(
                    *_command(config, listener.fileno()),
                    stdin=PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=(listener.fileno(),),
                    start_new_session=True,
                    env=_environment(config),
                )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise StartError(f"the process of an engine could not be started: {error}") from error
        assert process.stdin is not None
        # The pipe stays open: its end is how the child learns that this process has gone.
        process.stdin.write(encode(config.engine) + b"\n")
        return cls(process, folder, log_file)

    @property
    def socket_path(self) -> str:
        return str(self._folder / "socket")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._watch.done()

    async def ended(self) -> str:
        """Wait until it has ended; how."""
        return await asyncio.shield(self._watch)

    async def ended_within(self, seconds: float) -> str | None:
        """How it ended, if it does so in time."""
        await asyncio.wait({self._watch}, timeout=seconds)
        return self._watch.result() if self._watch.done() else None

    def kill(self) -> None:
        """End it now, and everything that it started, whatever it does."""
        if self.alive:
            # It may have ended already, unnoticed here.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    async def clear(self, grace_s: float) -> None:
        """Wait ``grace_s`` for it to end, then end it; take its files away."""
        await asyncio.wait({self._watch}, timeout=grace_s)
        self.kill()
        await self._watch
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def log_tail(self) -> str:
        """The last lines that it printed."""
        try:
            with self._log_file.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-_TAIL_LINES:])

    async def _wait(self) -> str:
        status = await self._process.wait()
        if status < 0:
            return f"its process {self.pid} was killed by {signal.Signals(-status).name}"
        return f"its process {self.pid} ended with exit status {status}"


def _command(config: HostedConfig, fd: int) -> tuple[str, ...]:
    return (config.python or sys.executable, "-P", "-m", "assay.engines.hosted.host", str(fd))


def _environment(config: HostedConfig) -> dict[str, str]:
    """The child finds the modules that this process finds, unless it runs an interpreter of its own choice."""
    path = {} if config.python is not None else {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return os.environ | path | config.environment
