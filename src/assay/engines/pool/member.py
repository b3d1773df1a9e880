"""One engine of a pool and its life: the thin executor of ``lifecycle``, and the requests that are in the air.

``feed`` takes an event. What can be done at once is done before it returns; the rest is done in one task, whose
outcomes are the next events. An event from outside ends that task: what it was doing no longer matters.

Does not decide which request goes where (``dispatch``), nor watch whether the engine lives (``watch``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import FailureKind, Request
from assay.engines.base import Engine, Offloadable, Tag, Updatable
from assay.engines.lifecycle import (
    Action,
    CanaryFailed,
    Died,
    Do,
    Event,
    Failed,
    Release,
    Resume,
    Resumed,
    Sign,
    State,
    advance,
    begin,
)

from .backoff import Backoff
from .flight import Flight
from .shared import Shared
from .traits import Reloadable, Supervised, Weighed

log = logging.getLogger(__name__)

_ABORT_GRACE_S = 5.0
_AT_ONCE = (Do.OPEN_ADMISSION, Do.STOP_ADMISSION, Do.FLUSH, Do.QUARANTINE, Do.RETIRE)


class Member:
    """A replica. ``engine`` is another object after every rebuild."""

    def __init__(self, index: int, shared: Shared) -> None:
        self.index = index
        self.engine: Engine = shared.factory(index)
        self.life, self._first = begin()
        self.start_error: AssayError | None = None
        self.failed_starts = 0
        """Starts in a row that came to nothing."""
        self.flights: set[Flight] = set()
        self.owed = 0.0
        """Work of the requests in the air."""
        self.heard_at = time.monotonic()
        """When the engine last gave a sign of life."""
        self.silent = False
        """It did not answer when it was last asked how it is, and has done nothing since."""
        self.moved_bytes = 0
        """Bytes that the last sleep or wake freed or took."""
        self.line = asyncio.Lock()
        """One control call, or look at the health, at a time."""
        self._errors_in_a_row = 0
        self._error_at = 0.0
        self._backoff = Backoff(shared.config.rebuild_pause_s, shared.config.rebuild_pause_max_s)
        self._shared = shared
        self._used = False
        self._empty = asyncio.Event()
        self._empty.set()
        self._drive: asyncio.Task[None] | None = None
        self._drives: set[asyncio.Task[None]] = set()
        """The drive, and those before it that have not ended yet."""
        self._closing: asyncio.Task[None] | None = None
        self._sentinel: asyncio.Task[None] | None = None
        self._held_before: int | None = None

    @property
    def settled(self) -> bool:
        """Nothing is under way that ends by itself; a dead engine counts, whether or not it is being rebuilt."""
        return self.life.step in ("rest", "replace")

    @property
    def condition(self) -> str:
        """The state, or ``silent`` for one that should serve and does not answer."""
        return "silent" if self.silent and self.life.admits else str(self.life.state)

    def describe(self) -> str:
        reason = "" if self.life.reason is None else f" ({self.life.reason})"
        return f"replica {self.index} is {self.condition}{reason}"

    def begin(self) -> None:
        """Start the engine for the first time."""
        self._go(self._first)

    def feed(self, event: Event) -> None:
        """Something happened, or is asked for. Raises IllegalEvent."""
        self.life, actions = advance(self.life, event)
        if self._drive is not None:
            self._drive.cancel()
            self._drive = None
        self._go(actions)

    def died(self, reason: str) -> None:
        """The engine is gone, or must go; of one that is dead already, nothing new."""
        if self.life.state is not State.DEAD:
            self.feed(Died(reason))

    @contextmanager
    def flight(self, request: Request, deadline: Deadline, work: float) -> Generator[Flight]:
        """A request in the air; the engine owes ``work`` meanwhile."""
        flight = Flight(self.engine, request, deadline)
        self.flights.add(flight)
        self.owed += work
        self._empty.clear()
        try:
            yield flight
        finally:
            self.flights.discard(flight)
            self.owed -= work
            if not self.flights:
                self.owed = 0.0  # no rounding is left behind
                self._empty.set()

    def heard(self) -> None:
        """It answered, or said that it is well."""
        self.heard_at = time.monotonic()
        self.silent = False

    def engine_answer(self) -> None:
        """It answered a request."""
        self._errors_in_a_row = 0
        self._backoff.served()

    def engine_error(self, sent_at: float) -> int:
        """It failed a request that was sent at that time. How often in a row it has done so by now.

        Requests that were in the air together fail together: that is one error.
        """
        if sent_at >= self._error_at:
            self._errors_in_a_row += 1
            self._error_at = time.monotonic()
        return self._errors_in_a_row

    async def gone(self) -> None:
        """Wait until a retired engine is really closed."""
        if self._closing is not None:
            await asyncio.wait({self._closing})

    async def close(self) -> None:
        """End everything, whatever is under way."""
        self._end_flights(GenerationError(FailureKind.ENGINE_ERROR, "the pool was closed"))
        # Earlier drives have been told to end and are cleaning up: they are waited for, not told again.
        for task in (self._drive, self._sentinel):
            if task is not None:
                task.cancel()
        under_way = self._drives if self._sentinel is None else {*self._drives, self._sentinel}
        if under_way:
            await asyncio.wait(under_way)
        await self.gone()
        await self.engine.close()

    # The executor.

    def _go(self, actions: tuple[Action, ...]) -> None:
        """Do at once what can be, the rest in a task."""
        rest = list(actions)
        while rest and rest[0] in _AT_ONCE:
            self._at_once(rest.pop(0))
        self._shared.changes.tell()
        if rest:
            self._drive = asyncio.ensure_future(self._carry_on(rest))
            self._drives.add(self._drive)
            self._drive.add_done_callback(self._drives.discard)
            self._drive.add_done_callback(self._fell_over)

    async def _carry_on(self, actions: list[Action]) -> None:
        """Do the actions; the first that yields an event ends the list, and that event's own actions follow."""
        while actions:
            action = actions.pop(0)
            if action in _AT_ONCE:
                self._at_once(action)
                continue
            event = await self._perform(action)
            if event is not None:
                self.life, then = advance(self.life, event)
                actions = list(then)
                self._shared.changes.tell()

    def _fell_over(self, drive: asyncio.Task[None]) -> None:
        """A fault that nobody foresaw ends the engine, not the supervision."""
        if drive.cancelled() or drive.exception() is None:
            return
        log.critical("replica %d: supervision failed", self.index, exc_info=drive.exception())
        self.died(f"supervision failed: {drive.exception()!r}")

    def _at_once(self, action: Action) -> None:
        match action:
            case Do.OPEN_ADMISSION:
                self._errors_in_a_row = self.failed_starts = 0
                self.heard()
                log.info("replica %d is ready", self.index)
            case Do.STOP_ADMISSION:
                log.info("replica %d takes no more requests: it is %s", self.index, self.life.state)
            case Do.FLUSH:
                self._shared.router.forget(self.index)
            case Do.QUARANTINE:
                self._shared.counters.quarantines += 1
                log.error("replica %d is in quarantine and gets no request: %s", self.index, self.life.reason)
            case Do.RETIRE:
                self._retire(self.life.reason or "")
            case _:
                raise AssertionError(f"{action!r} takes time")

    async def _perform(self, action: Action) -> Event | None:
        match action:
            case Do.START:
                return await self._start()
            case Do.DRAIN:
                drained = await self._emptied(self._shared.config.drain_s)
                return Sign.DRAINED if drained else Sign.DRAIN_DEADLINE
            case Do.ABORT_RUNNING:
                detail = f"replica {self.index} was drained before the answer was whole"
                self._end_flights(GenerationError(FailureKind.ASLEEP, detail, retry_after=1.0))
                return Sign.DRAINED if await self._emptied(_ABORT_GRACE_S) else Died("it does not abort")
            case Release(tags):
                return await self._release(tags)
            case Do.CHECK_MEMORY:
                return await self._check_memory()
            case Resume(tag):
                return await self._resume(tag)
            case Do.RUN_CANARY:
                return await self._run_canary()
            case Do.RELOAD_FROM_DISK:
                return await self._reload()
            case Do.REBUILD:
                return await self._rebuild()
            case _:
                raise AssertionError(f"{action!r} is done at once")

    async def _start(self) -> Event:
        try:
            if self._used:
                self.engine = self._shared.factory(self.index)
            self._used = True
            engine = self.engine
            await engine.start()
            if self._shared.weights is not None and isinstance(engine, Updatable):
                await engine.update_weights(*self._shared.weights)
        except AssayError as error:
            self.start_error = error
            self.failed_starts += 1
            log.error("replica %d could not start: %s", self.index, error)
            return Failed(f"it could not start: {error}")
        if isinstance(engine, Supervised):
            self._sentinel = asyncio.ensure_future(self._mourn(engine))
        return Sign.STARTED

    async def _mourn(self, engine: Supervised) -> None:
        self.died(await engine.lost())

    async def _release(self, tags: frozenset[Tag]) -> Event | None:
        engine = self.engine
        if not isinstance(engine, Offloadable):
            return Failed("it cannot give its memory back")
        try:
            async with self.line, asyncio.timeout(self._shared.config.control_timeout_s):
                self._held_before = await engine.held_bytes() if isinstance(engine, Weighed) else None
                self.moved_bytes = await engine.sleep(tags)
        except (AssayError, TimeoutError) as error:
            return Failed(f"it did not give its memory back: {error}")
        if "weights" in tags and self.moved_bytes <= 0:
            return Failed("it says that it gave its weights back, and freed nothing")
        return None

    async def _check_memory(self) -> Event:
        """At least half of what the engine claims to have freed must be seen to be free, where it can be seen."""
        engine = self.engine
        if self._held_before is None or not isinstance(engine, Weighed):
            return Sign.RELEASED
        try:
            async with self.line, asyncio.timeout(self._shared.config.control_timeout_s):
                held = await engine.held_bytes()
        except (AssayError, TimeoutError) as error:
            return Failed(f"its memory could not be measured after the release: {error}")
        if held is not None and self._held_before - held < self.moved_bytes / 2:
            claim = f"it says that it freed {self.moved_bytes} bytes"
            return Failed(f"{claim}, and its memory went from {self._held_before} to {held}")
        return Sign.RELEASED

    async def _resume(self, tag: Tag) -> Event:
        engine = self.engine
        if not isinstance(engine, Offloadable):
            return Failed("it cannot take memory again")
        try:
            async with self.line, asyncio.timeout(self._shared.config.control_timeout_s):
                self.moved_bytes += await engine.wake(frozenset({tag}))
        except (AssayError, TimeoutError) as error:
            return Failed(f"its {tag} did not come back: {error}")
        return Resumed(tag)

    async def _run_canary(self) -> Event:
        try:
            drift = await self._shared.proof.prove(self.engine)
        except GenerationError as error:
            return Died(f"it did not answer the canary: {error}")
        if drift.reason is None:
            return Sign.CANARY_PASSED
        log.error("replica %d is not the judge that it was: %s", self.index, drift.reason)
        self._shared.counters.drifts += 1
        return CanaryFailed(f"canary: {drift.reason}")

    async def _reload(self) -> Event:
        engine, weights = self.engine, self._shared.weights
        try:
            async with self.line, asyncio.timeout(self._shared.config.control_timeout_s):
                if isinstance(engine, Reloadable):
                    await engine.reload()
                if isinstance(engine, Updatable) and weights is not None:
                    await engine.update_weights(*weights)
                elif not isinstance(engine, Reloadable):
                    return Failed("it cannot read its weights again")
        except (AssayError, TimeoutError) as error:
            return Failed(f"its weights could not be read again: {error}")
        return Sign.RELOADED

    async def _rebuild(self) -> Event:
        pause = self._backoff.pause()
        if pause:
            log.warning("replica %d is rebuilt in %.1f s", self.index, pause)
        await asyncio.sleep(pause)
        await self.gone()
        self._shared.counters.rebuilds += 1
        return Sign.REBUILT

    def _retire(self, reason: str) -> None:
        engine = self.engine
        self._shared.counters.deaths += 1
        log.warning("replica %d has died: %s; %d requests go elsewhere", self.index, reason, len(self.flights))
        if self._sentinel is not None:
            self._sentinel.cancel()
            self._sentinel = None
        if isinstance(engine, Supervised):
            engine.kill()
        detail = f"replica {self.index} died: {reason}"
        self._end_flights(GenerationError(FailureKind.ENGINE_ERROR, detail))
        self._shared.router.forget(self.index)
        self._closing = asyncio.ensure_future(self._close(engine, self._closing))

    async def _close(self, engine: Engine, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        try:
            await engine.close()
        except (AssayError, OSError) as error:
            log.warning("replica %d did not close cleanly: %s", self.index, error)

    async def _emptied(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    def _end_flights(self, reason: GenerationError) -> None:
        for flight in self.flights:
            flight.end(reason)
