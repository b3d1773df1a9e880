"""A judge service in a process of its own, for as long as a block of code runs, and no longer than who started it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.client import GenRMError, SyncGenRMClient
from assay.core.errors import StartError
from assay.engines.sglang.process import GUARD

_GUARDED = sys.platform == "linux"
"""The guard knows processes as Linux does."""
_POLL_S = 0.2
_STOP_S = 40.0
"""How long the service may take to end."""
_SPARE_S = 10.0
"""How much longer the guard may, which kills what is left."""


@contextmanager
def service_process(flags: Sequence[str], log_file: Path, *, start_s: float) -> Generator[str]:
    """``assay serve`` with ``flags`` on a free port; gives its URL once it is healthy, and stops it at the end.

    On Linux it also ends when this process does, however that was.

    Raises:
        StartError: it ended or was not healthy within ``start_s`` seconds; the message holds the end of its log.
    """
    port = _free_port()
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("wb") as log:
        command = [sys.executable, "-m", "assay", "serve", "--port", str(port), *flags]
        process = subprocess.Popen(
            [*_guard(), *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}/genrm"
            _wait_healthy(process, url, log_file, start_s)
            yield url
        finally:
            _stop(process)


def _wait_healthy(process: subprocess.Popen[bytes], url: str, log_file: Path, start_s: float) -> None:
    give_up = time.monotonic() + start_s
    with SyncGenRMClient(url) as client:
        while time.monotonic() < give_up:
            if process.poll() is not None:
                raise StartError(f"the judge service ended with code {process.returncode}:\n{_tail(log_file)}")
            try:
                health = client.health()
            except GenRMError:
                time.sleep(_POLL_S)
                continue
            if health.status == "healthy":
                return
            if health.error:
                raise StartError(f"the judge service could not start: {health.error}")
            time.sleep(_POLL_S)
    raise StartError(f"the judge service was not healthy after {start_s:g} s:\n{_tail(log_file)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()  # The guard sees that nobody needs the service any more.
    if not _GUARDED and process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S + _SPARE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _guard() -> list[str]:
    """What stands in front of the command, and ends it when we are gone."""
    return [sys.executable, "-I", "-S", str(GUARD), str(_STOP_S)] if _GUARDED else []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(path: Path, lines: int = 15) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
