"""Following actors while they start: each stage is said as it begins, and one that lasts too long ends the run by name.

Owns the limit of a stage and the words. Does not own what the stages are (``rank``, the engines), nor what becomes of a
crew when one of it fails (``crew``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from assay.core.errors import AssayError, StartError

from .crew import Crew, Hand
from .stages import Whereabouts, tail

T = TypeVar("T")
Say = Callable[[str], None]

PROCESS = "process"
"""The stage of an actor that has not answered yet: Ray looks for its place, starts a worker and imports the code."""

_POLL_S = 1.0
_ANSWER_S = 5.0
_NAMED = 4


class Progress:
    """What is known of one actor. ``enter`` is told the same stage again and again."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage = PROCESS
        self.entered = 0
        """Stages so far."""
        self.before, self.before_s = PROCESS, 0.0
        """The stage before, and how long that took."""
        self.log: str | None = None
        self.since = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the present stage has lasted."""
        return time.monotonic() - self.since

    def enter(self, stage: str, *, ago_s: float = 0.0, entered: int = 0) -> bool:
        """Whether that is news."""
        if stage == self.stage:
            return False
        begun = time.monotonic() - ago_s
        self.before, self.before_s = self.stage, max(0.0, begun - self.since)
        self.stage, self.since, self.entered = stage, begun, entered
        return True

    def too_long(self, limit_s: float, *, standing: str = "", log_end: str = "") -> StartError:
        """Why the start is given up."""
        where = f"; it stands in {standing}" if standing else ""
        return StartError(
            f"{self.name} has been in stage {self.stage!r} for {self.seconds:.0f} s, and a stage may take "
            f"{limit_s:g} (--start-timeout-s){where}{self.ending(log_end)}"
        )

    def ending(self, log_end: str = "") -> str:
        """The end of its log, where there is one."""
        text = log_end or tail(self.log)
        return f". The end of its log {self.log or ''}:\n{text}" if text else ""


async def followed(crew: Crew, work: Awaitable[T], *, stage_s: float, say: Say) -> T:
    """Wait for what a crew does as it starts, and say how far each of it is.

    Raises:
        StartError: one stayed in a stage for longer than ``stage_s``, or died; names the stage, with the end of its
            log. All of the crew have been ended.
        AssayError: what one of them said itself.
    """
    known = [Progress(hand.name) for hand in crew.hands]
    doing = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({doing}, timeout=_POLL_S))[0]:
            looking = asyncio.ensure_future(_look_at_all(crew.hands, known))
            await asyncio.wait({doing, looking}, return_when=asyncio.FIRST_COMPLETED)
            if not looking.done():
                looking.cancel()
                await asyncio.wait({looking})
                break
            _say_news(looking.result(), say)
            late = [place for place, own in enumerate(known) if own.seconds > stage_s]
            if late:
                # Whoever is ahead waits for the others.
                place = min(late, key=lambda one: known[one].entered)
                given_up = await _given_up(crew.hands[place], known[place], known, stage_s)
                crew.end(given_up)
                raise given_up
        return await doing
    except AssayError as error:
        died = next((own for own in known if type(error) is AssayError and own.name in str(error)), None)
        if died is None:
            raise
        raise StartError(f"{error}. It was in stage {died.stage!r}{died.ending()}") from error
    finally:
        doing.cancel()


async def _look_at_all(hands: Sequence[Hand], known: Sequence[Progress]) -> list[Progress]:
    """Those of whom there is news."""
    news = await asyncio.gather(*(_look(hand, own) for hand, own in zip(hands, known, strict=True)))
    return [own for own, new in zip(known, news, strict=True) if new]


async def _look(hand: Hand, own: Progress) -> bool:
    """Whether there is news of it."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            told = await hand.beside("whereabouts")
    except (AssayError, TimeoutError):
        return False  # not up yet, or gone, which the call that it owes an answer to will say
    assert isinstance(told, Whereabouts)
    own.log = told.log
    if not told.stages:
        return False
    last = told.stages[-1]
    return own.enter(last.name, ago_s=told.now_s - last.begun_s, entered=len(told.stages))


def _say_news(known: Sequence[Progress], say: Say) -> None:
    """One line for all that are newly in the same stage."""
    stages = {own.stage: [one for one in known if one.stage == own.stage] for own in known}
    for stage, group in stages.items():
        names = [own.name for own in group]
        who = ", ".join(names) if len(names) <= _NAMED else f"{names[0]} and {len(names) - 1} more"
        slowest = max(group, key=lambda own: own.before_s)
        say(f"{who}: {stage}, after {slowest.before_s:.1f} s of {slowest.before}")


async def _given_up(hand: Hand, own: Progress, known: Sequence[Progress], stage_s: float) -> StartError:
    standing = ""
    try:
        async with asyncio.timeout(_ANSWER_S):
            standing, end = await hand.beside("standing")
    except (AssayError, TimeoutError):
        end = "" if own.stage != PROCESS else "(it has never answered: see the logs of Ray's workers on its node)"
    others = [f"{one.name} is in {one.stage!r}" for one in known if one is not own][:_NAMED]
    beside = f" ({', '.join(others)})" if others else ""
    return own.too_long(stage_s, standing=f"{standing}{beside}", log_end=end)
