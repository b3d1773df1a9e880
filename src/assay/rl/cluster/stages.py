"""The stages that an actor goes through while it starts, so that one which hangs can be named.

Owns the record that the actor keeps, and what is told of it to whoever watches (``following``). Knows nothing of Ray.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from dataclasses import dataclass

_TAIL_BYTES, _TAIL_LINES = 8 << 10, 15
_FRAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """``begun_s``: seconds after the process began to keep this record."""

    name: str
    begun_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """How far an actor is. ``now_s`` is on the clock of the stages. ``log``: the file that its stderr goes to."""

    pid: int
    stages: tuple[Stage, ...]
    now_s: float
    log: str | None


class Course:
    """What the actor keeps. ``enter`` and ``told`` may be called in different threads."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._stages: tuple[Stage, ...] = ()
        self._thread: int | None = None

    def enter(self, name: str) -> None:
        """A stage begins, and with it the one before has ended."""
        self._thread = threading.get_ident()
        self._stages = (*self._stages, Stage(name=name, begun_s=time.monotonic() - self._began))

    def told(self) -> Whereabouts:
        now = time.monotonic() - self._began
        return Whereabouts(pid=os.getpid(), stages=self._stages, now_s=now, log=own_log())

    def standing(self) -> str:
        """Which calls the thread of the last stage is in, innermost last; empty where there is none."""
        frame = None if self._thread is None else sys._current_frames().get(self._thread)  # pyright: ignore[reportPrivateUsage]
        if frame is None:
            return ""
        calls = traceback.extract_stack(frame)[-_FRAMES:]
        return " > ".join(f"{call.name} ({_short(call.filename)}:{call.lineno})" for call in calls)


def own_log() -> str | None:
    """The file that this process's stderr goes to; None where that is no file, or cannot be known."""
    try:
        path = os.readlink("/proc/self/fd/2")
    except OSError:
        return None
    return path if os.path.isfile(path) else None


def tail(path: str | None) -> str:
    """The last lines of a log; empty where it cannot be read."""
    if path is None:
        return ""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join([line for line in lines if line.strip()][-_TAIL_LINES:])


def _short(path: str) -> str:
    return "/".join(path.split("/")[-3:])
