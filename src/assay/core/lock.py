"""One writer at a time: a lock file beside, or in, what is written.

The lock is the kernel's (``flock``): it goes with the process that holds it, however that ends, so a file that a kill
left behind locks nothing. What stands in the file is for the message alone: who, where, since when. On file systems
that know no locks (some mounts of Lustre and NFS) the name is taken by a hard link instead, and a holder on this
machine that is no longer alive is passed over.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from .errors import InputError, OutputError

_UNKNOWN = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    """Who holds a lock."""

    pid: int
    host: str
    since: str

    @classmethod
    def me(cls) -> Self:
        return cls(pid=os.getpid(), host=socket.gethostname(), since=time.strftime("%Y-%m-%d %H:%M:%S"))

    @classmethod
    def of(cls, path: Path) -> Self | None:
        """None where it does not say, or not yet."""
        try:
            told = json.loads(path.read_text("utf-8"))
            return cls(pid=int(told["pid"]), host=str(told["host"]), since=str(told["since"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def gone(self) -> bool:
        """Whether it was of this machine, and is no longer; nobody knows of another machine's."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class Lock:
    """Holds ``path`` from the first line to ``release``, or for a ``with`` block. Processes started by exec do not
    inherit it.

    Args:
        what: what is written, as a message names it: ``"the run folder 'runs/a'"``.
        else_: what to do other than wait: ``"name another --run-dir"``.

    Raises:
        InputError: another process (or another Lock of this one) holds it; says which.
        OutputError: the lock file cannot be written.
    """

    def __init__(self, path: Path, what: str, else_: str) -> None:
        self.path = path
        self._what, self._else = what, else_
        self._handle: int | None = None
        self._linked = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            while self._handle is None and not self._linked:
                self._try()
        except OSError as error:
            raise OutputError(f"cannot write {str(path)!r}: {error.strerror or error}; {else_}") from error

    def release(self) -> None:
        """Let others have it. Twice is fine."""
        if self._handle is None and not self._linked:
            return
        # Removed while it is held: whoever opened it meanwhile sees that its name is gone, and opens it anew.
        if self._handle is None or _is(self._handle, self.path):
            self.path.unlink(missing_ok=True)
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self._linked = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try(self) -> None:
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno in _UNKNOWN:
                return self._link()
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise self._busy(_Owner.of(self.path)) from None
        if not _is(handle, self.path):
            os.close(handle)
            return None
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(asdict(_Owner.me())).encode())
        self._handle = handle
        return None

    def _link(self) -> None:
        """Without locks of the kernel: the name is there, or it is ours."""
        self.path.unlink(missing_ok=True)
        held = self.path.with_name(self.path.name + ".held")
        mine = held.with_name(f"{held.name}.{os.getpid()}")
        if (owner := _Owner.of(held)) is not None and owner.gone():
            held.unlink(missing_ok=True)
        mine.write_text(json.dumps(asdict(_Owner.me())), "utf-8")
        try:
            os.link(mine, held)
        except FileExistsError:
            more = f"; if that is no longer running, remove {str(held)!r}"
            raise self._busy(_Owner.of(held), more) from None
        finally:
            mine.unlink(missing_ok=True)
        self.path, self._linked = held, True

    def _busy(self, owner: _Owner | None, more: str = "") -> InputError:
        who = "another process" if owner is None else str(owner)
        return InputError(f"{self._what} is being written by another run ({who}): wait for it, or {self._else}{more}")


def _is(handle: int, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        mine, named = os.fstat(handle), path.stat()
    except OSError:
        return False
    return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)
