"""One writer at a time, whatever became of the one before."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import InputError, OutputError
from assay.core.lock import Lock

HOLD = """
import sys, time
from pathlib import Path
from assay.core.lock import Lock
Lock(Path(sys.argv[1]), "x", "y")
print("held", flush=True)
time.sleep(600)
"""


def lock(path: Path) -> Lock:
    return Lock(path, "the folder 'run'", "name another --run-dir")


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "run" / ".lock"
    with lock(path):
        with pytest.raises(InputError) as told:
            lock(path)
        assert "the folder 'run' is being written by another run" in str(told.value)
        assert f"(process {os.getpid()} on {socket.gethostname()}, since 2" in str(told.value)
        assert str(told.value).endswith("wait for it, or name another --run-dir")
    assert not path.exists()
    held = lock(path)
    held.release()
    held.release()


@pytest.mark.parametrize("links", [False, True], ids=["flock", "links"])
def test_what_a_killed_process_held_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    path = tmp_path / ".lock"
    script = f"import fcntl, errno\n{NO_LOCKS if links else ''}{HOLD}"
    holder = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    if links:
        monkeypatch.setattr(fcntl, "flock", no_locks)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"process {holder.pid} on"):
            lock(path)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert any(tmp_path.iterdir()), "it left its file behind"
    lock(path).release()
    assert not any(tmp_path.iterdir())


NO_LOCKS = """
def no_locks(handle, how):
    raise OSError(errno.ENOSYS, "Function not implemented")
fcntl.flock = no_locks
"""


def no_locks(handle: int, how: int) -> None:
    raise OSError(errno.ENOSYS, "Function not implemented")


def test_without_locks_of_the_kernel_another_machine_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)
    held = tmp_path / ".lock.held"
    held.write_text(json.dumps({"pid": 1, "host": "elsewhere", "since": "2026-01-01 00:00:00"}))
    with pytest.raises(InputError, match=r"1 on elsewhere.*if that is no longer running, remove .*\.lock\.held"):
        lock(tmp_path / ".lock")
    held.unlink()
    with lock(tmp_path / ".lock"), pytest.raises(InputError, match=str(os.getpid())):
        lock(tmp_path / ".lock")


def test_a_lock_whose_file_was_removed_is_not_shared(tmp_path: Path) -> None:
    """Someone tidies up: the next one makes a file of its own, and the one before does not take that away."""
    path = tmp_path / ".lock"
    first = lock(path)
    path.unlink()
    second = lock(path)
    first.release()
    with pytest.raises(InputError):
        lock(path)
    second.release()
    assert not path.exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="name another --run-dir"):
        lock(tmp_path / "file" / ".lock")
