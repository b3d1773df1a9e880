"""The life of one engine as a pure state machine: what may happen next, and what has to be done about it.

``advance(life, event)`` gives the new life and the actions that an executor carries out in order; what comes of them
are the next events. It owns no clock, no task and no engine.

    starting  -- STARTED, CANARY_PASSED ------------------> ready
    ready     -- SleepAsked -> draining, DRAINED, RELEASED -> asleep
    ready     -- UPDATE_ASKED -> draining, DRAINED, SETTLED -> waking
    asleep    -- WakeAsked -> waking, Resumed ..., CANARY_PASSED -> ready
    a canary that fails again after a reload -----------> quarantined
    any       -- Died, Failed ---------------------------> dead -- REBUILT -> starting

What holds whatever the order of events:

- Only ``ready`` admits requests, and it is reached through a passed canary alone: at start, after every wake, after
  every change of the weights.
- A tag is released once and resumed once: engines die of the second call.
- A control call that failed is not repeated, since nobody knows how far it came: the engine is ended, a new one built.
- An engine that dies while its memory is lent out is not rebuilt before it is asked to wake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from assay.core.errors import AssayError

from .base import Tag

NO_TAGS: frozenset[Tag] = frozenset()
ALL_TAGS: frozenset[Tag] = frozenset({"weights", "kv_cache"})
WAKE_ORDER: tuple[Tag, ...] = ("weights", "kv_cache")


class State(StrEnum):
    """Where an engine stands."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    ASLEEP = "asleep"
    WAKING = "waking"
    QUARANTINED = "quarantined"
    """It runs and answers, but not as the judge that it was: it gets no request."""
    DEAD = "dead"


Step = Literal["load", "canary", "drain", "release", "resume", "reload", "replace", "rest"]
"""What is going on in a state; the two together decide which events are legal. ``rest``: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One engine's state."""

    state: State = State.STARTING
    step: Step = "load"
    released: frozenset[Tag] = NO_TAGS
    """What the engine has given back."""
    lent: frozenset[Tag] = NO_TAGS
    """What was asked to be given back and not yet asked to be taken again, whether or not an engine lives."""
    reloaded: bool = False
    """This wake has read the weights from disk already."""
    reason: str | None = None
    """Why it is dead, in quarantine or being reloaded."""

    @property
    def admits(self) -> bool:
        return self.state is State.READY

    @property
    def coming(self) -> bool:
        """It takes no requests now and will again without being asked."""
        return not self.lent and self.state in (State.STARTING, State.DRAINING, State.WAKING, State.DEAD)


class Sign(StrEnum):
    """Events that carry nothing."""

    STARTED = "started"
    DRAINED = "drained"
    DRAIN_DEADLINE = "drain_deadline"
    """Something still runs and has had its time."""
    RELEASED = "released"
    """The tags were given back, and the memory was seen to fall."""
    CANARY_PASSED = "canary_passed"
    RELOADED = "reloaded"
    UPDATE_ASKED = "update_asked"
    """Other weights are about to be put in, once nothing runs; whoever asked says ``SETTLED`` afterwards."""
    SETTLED = "settled"
    """The new weights are in, or were refused and the old ones go on."""
    REBUILT = "rebuilt"
    """A new engine stands in the place of the dead one."""


@dataclass(frozen=True, slots=True)
class SleepAsked:
    """Memory is to be given back."""

    tags: frozenset[Tag]


@dataclass(frozen=True, slots=True)
class WakeAsked:
    """Memory is to be taken again."""

    tags: frozenset[Tag]


@dataclass(frozen=True, slots=True)
class Resumed:
    """One tag is back."""

    tag: Tag


@dataclass(frozen=True, slots=True)
class CanaryFailed:
    """It answers, and not as it did."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """What the step was about (start, release, resume, reload) did not come to be."""

    reason: str


@dataclass(frozen=True, slots=True)
class Died:
    """The engine is gone, or must go."""

    reason: str


Event: TypeAlias = Sign | SleepAsked | WakeAsked | Resumed | CanaryFailed | Failed | Died


class Do(StrEnum):
    """Actions that need to be told nothing."""

    START = "start"
    OPEN_ADMISSION = "open_admission"
    STOP_ADMISSION = "stop_admission"
    DRAIN = "drain"
    """Wait until nothing runs: ``DRAINED``; at the drain deadline, ``DRAIN_DEADLINE``."""
    ABORT_RUNNING = "abort_running"
    """End what runs, then ``DRAINED``."""
    FLUSH = "flush"
    """Forget what was known of its prefix cache."""
    CHECK_MEMORY = "check_memory"
    """See whether the memory fell by what the release claimed: ``RELEASED`` or ``Failed``."""
    RUN_CANARY = "run_canary"
    RELOAD_FROM_DISK = "reload_from_disk"
    QUARANTINE = "quarantine"
    """Say so, loudly."""
    RETIRE = "retire"
    """Kill and close the engine; its requests go elsewhere."""
    REBUILD = "rebuild"
    """After a pause that grows with failures, put a new engine in its place: ``REBUILT``."""


@dataclass(frozen=True, slots=True)
class Release:
    """Have the engine give memory back."""

    tags: frozenset[Tag]


@dataclass(frozen=True, slots=True)
class Resume:
    """Have the engine take memory again: ``Resumed`` or ``Failed``."""

    tag: Tag


Action: TypeAlias = Do | Release | Resume
Advance: TypeAlias = tuple[Life, tuple[Action, ...]]


class IllegalEvent(AssayError):
    """An event that cannot happen in this state."""

    def __init__(self, life: Life, event: Event) -> None:
        super().__init__(f"{event!r} cannot happen to an engine that is {life.state} (step {life.step!r})")
        self.life = life
        self.event = event


def begin() -> Advance:
    """A new life, and what starts it."""
    return Life(), (Do.START,)


def advance(life: Life, event: Event) -> Advance:
    """The life after ``event``, and what to do, in order. Raises IllegalEvent."""
    if isinstance(event, Died) and life.state is not State.DEAD:
        return _end(life, event.reason)
    then = _HANDLERS[life.state](life, event)
    if then is None:
        raise IllegalEvent(life, event)
    return then


def _starting(life: Life, event: Event) -> Advance | None:
    match life.step, event:
        case "load", Sign.STARTED:
            return replace(life, step="canary"), (Do.RUN_CANARY,)
        case "load", Failed(reason):
            return _end(life, reason)
        case "canary", Sign.CANARY_PASSED:
            return _open(life)
        case "canary", CanaryFailed(reason):
            return _shut_away(life, reason)
        case _, SleepAsked(tags) if tags:
            return _end(replace(life, lent=tags), "its memory was asked for before it had started")
        case _:
            return None


def _ready(life: Life, event: Event) -> Advance | None:
    match event:
        case SleepAsked(tags) if tags:
            lent = tags
        case Sign.UPDATE_ASKED:
            lent = NO_TAGS
        case _:
            return None
    return replace(life, state=State.DRAINING, step="drain", lent=lent), (Do.STOP_ADMISSION, Do.DRAIN)


def _draining(life: Life, event: Event) -> Advance | None:
    match life.step, event:
        case "drain", Sign.DRAIN_DEADLINE:
            return life, (Do.ABORT_RUNNING,)
        case "drain", Sign.DRAINED if life.lent:
            return replace(life, step="release"), (Do.FLUSH, Release(life.lent), Do.CHECK_MEMORY)
        case "drain", Sign.DRAINED:
            return replace(life, step="replace"), (Do.FLUSH,)
        case "release", Sign.RELEASED:
            return replace(life, state=State.ASLEEP, step="rest", released=life.lent), ()
        case "release", Failed(reason):
            return _end(life, reason)
        case "replace", Sign.SETTLED:
            return replace(life, state=State.WAKING, step="canary"), (Do.RUN_CANARY,)
        case _:
            return None


def _asleep(life: Life, event: Event) -> Advance | None:
    match life.step, event:
        case "rest", SleepAsked(tags) if tags - life.released:
            then = replace(life, state=State.DRAINING, step="release", lent=life.lent | tags)
            return then, (Release(tags - life.released), Do.CHECK_MEMORY)
        case "rest", WakeAsked(tags) if tags & life.released:
            return _resume(replace(life, lent=life.lent - tags, reloaded=False))
        case "rest", Sign.UPDATE_ASKED if "weights" not in life.released:
            return replace(life, step="replace"), ()
        case "replace", Sign.SETTLED:
            return replace(life, step="rest"), ()
        case _:
            return None


def _waking(life: Life, event: Event) -> Advance | None:
    match life.step, event:
        case "resume", Resumed(tag) if tag == _next_back(life):
            return _resume(replace(life, released=life.released - {tag}))
        case "resume", Failed(reason):
            return _end(life, reason)
        case "canary", Sign.CANARY_PASSED:
            return _open(life)
        case "canary", CanaryFailed(reason) if life.reloaded:
            return _shut_away(life, reason)
        case "canary", CanaryFailed(reason):
            return replace(life, step="reload", reloaded=True, reason=reason), (Do.RELOAD_FROM_DISK,)
        case "reload", Sign.RELOADED:
            return replace(life, step="canary"), (Do.RUN_CANARY,)
        case "reload", Failed(reason):
            return _shut_away(life, f"{life.reason}; {reason}")
        case _:
            return None


def _quarantined(life: Life, event: Event) -> Advance | None:
    match event:
        case SleepAsked(tags) if tags:
            # Ending it is the one sure way to its memory; the wake builds a new one.
            return _end(replace(life, lent=tags), f"its memory was asked for in quarantine ({life.reason})")
        case _:
            return None


def _dead(life: Life, event: Event) -> Advance | None:
    match event:
        case SleepAsked(tags) if tags - life.lent:
            return replace(life, lent=life.lent | tags), ()
        case WakeAsked(tags) if tags & life.lent:
            left = life.lent - tags
            return replace(life, lent=left), () if left else (Do.REBUILD,)
        case Sign.REBUILT if not life.lent:
            return begin()
        case _:
            return None


def _open(life: Life) -> Advance:
    return replace(life, state=State.READY, step="rest", reloaded=False, reason=None), (Do.OPEN_ADMISSION,)


def _resume(life: Life) -> Advance:
    """On to the next tag that is to come back; when all have, the canary, unless something stays asleep."""
    tag = _next_back(life)
    if tag is not None:
        return replace(life, state=State.WAKING, step="resume"), (Resume(tag),)
    if life.released:
        return replace(life, state=State.ASLEEP, step="rest"), ()
    return replace(life, state=State.WAKING, step="canary"), (Do.RUN_CANARY,)


def _next_back(life: Life) -> Tag | None:
    return next((tag for tag in WAKE_ORDER if tag in life.released - life.lent), None)


def _shut_away(life: Life, reason: str) -> Advance:
    return replace(life, state=State.QUARANTINED, step="rest", reason=reason), (Do.QUARANTINE,)


def _end(life: Life, reason: str) -> Advance:
    """Dead; what it had released counts no more, since all of its memory goes with it."""
    then = Life(state=State.DEAD, step="rest", lent=life.lent, reason=reason)
    close = (Do.STOP_ADMISSION, Do.RETIRE)
    return then, close if life.lent else (*close, Do.REBUILD)


_HANDLERS: dict[State, Callable[[Life, Event], Advance | None]] = {
    State.STARTING: _starting,
    State.READY: _ready,
    State.DRAINING: _draining,
    State.ASLEEP: _asleep,
    State.WAKING: _waking,
    State.QUARANTINED: _quarantined,
    State.DEAD: _dead,
}
