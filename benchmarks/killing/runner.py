"""A run of ``assay train`` in a process group of its own, watched over a pipe and killed at a chosen moment."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from .marked import PIPE
from .modes import INTERVAL

MARKED = Path(__file__).with_name("marked.py")
TOKEN = "ASSAY_KILL_RESUME"
"""A variable that all processes of a run inherit, so that those that outlive it can be found."""
_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Moment:
    """``after`` seconds behind the ``nth`` time (0 is the first) that ``place`` begins; ``start``: of the process."""

    place: str
    nth: int
    after: float


@dataclass
class Launch:
    """One process of a run: where it was when, in seconds since it was started, and how it ended."""

    marks: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    killed: bool = False
    status: int = 0
    seconds: float = 0.0
    said: str = ""


def launch(recipe: Path, moment: Moment | None, *, group: bool = True) -> Launch:
    """Run until it ends, or until it is killed.

    Args:
        group: kill all of its process group; else the one process that was started, whose children have to notice.
    """
    reading, writing = os.pipe()
    environment = {**os.environ, PIPE: str(writing), TOKEN: str(recipe), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(MARKED), "train", *_flags(tomllib.loads(recipe.read_text()))]
    log = recipe.with_suffix(".log")
    begin = time.monotonic()
    with log.open("ab") as out:
        start = out.tell()
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env=environment, pass_fds=(writing,), start_new_session=True
        )
    os.close(writing)
    done = Launch()
    try:
        _watch(process, reading, moment, done, begin, group)
    finally:
        os.close(reading)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        done.status = process.wait()
    done.seconds = time.monotonic() - begin
    done.said = log.read_bytes()[start:].decode(errors="replace")
    return done


def _flags(told: Mapping[str, Any]) -> Iterator[str]:
    for name, value in told.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            yield from [flag] if value else []
        elif isinstance(value, dict):
            yield from (flag, json.dumps(value))
        else:
            for one in value if isinstance(value, list) else [value]:
                yield from (flag, str(one))


def _watch(
    process: subprocess.Popen[bytes], reading: int, moment: Moment | None, done: Launch, begin: float, group: bool
) -> None:
    """Read the marks; kill at the moment, if it comes."""
    unread, times = b"", 0
    due = begin + moment.after if moment is not None and moment.place == "start" else None
    while True:
        now = time.monotonic()
        if due is not None and now >= due and process.poll() is None:
            (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
            done.killed, due = True, None
        if now - begin > _TIMEOUT_S:
            raise TimeoutError(f"a run did not end within {_TIMEOUT_S:g} s")
        ready, _, _ = select.select([reading], [], [], 1.0 if due is None else max(0.0, due - now))
        if not ready:
            # Children of Ray's may hold the pipe for as long as they live.
            if process.poll() is not None:
                return
            continue
        data = os.read(reading, 1 << 16)
        if not data:
            return
        *lines, unread = (unread + data).split(b"\n")
        for line in lines:
            place, at = line.decode(), time.monotonic()
            done.marks.append((at - begin, place))
            if moment is not None and due is None and not done.killed and place == moment.place:
                due = at + moment.after if times == moment.nth else None
                times += 1


def lengths(launch: Launch) -> dict[str, tuple[int, float]]:
    """Of each place of a run that was not killed: how often it began, and the mean seconds until the next mark."""
    times = [*launch.marks, (launch.seconds, "end")]
    found: dict[str, list[float]] = {"start": [times[0][0]]}
    for (at, place), (until, _) in pairwise(times):
        found.setdefault(place, []).append(until - at)
    return {place: (len(own), sum(own) / len(own)) for place, own in found.items()}


def draw(random_: random.Random, place: str, places: Mapping[str, tuple[int, float]], steps: int) -> Moment:
    """A moment within a place: when in a run it comes, and how late, at random."""
    count, seconds = places[place]
    # Within the steps up to the second checkpoint from here: later, a resumed run has often ended.
    often = max(1, round(count * (2 * INTERVAL) / steps))
    return Moment(place, random_.randrange(often), random_.uniform(0.0, seconds))


def left_over(recipe: Path, within_s: float = 180.0) -> list[str]:
    """The processes of a run that still live when so many seconds have passed since it was killed.

    Ray's two agents look for their cluster for a minute before they end; they hold no card and no model.
    """
    until = time.monotonic() + within_s
    while (found := _living(recipe)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _living(recipe: Path) -> list[str]:
    found: list[str] = []
    wanted = f"{TOKEN}={recipe}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120])
        except OSError:
            continue
    return found
