"""Requests on their way: who is in the air, how each can be ended early, and the gate that they come in through.

A generation that nobody waits for any more is aborted on the server at once, by its own request id; the server by
itself takes three seconds to see that a client has left. Ids are of one length, because the server aborts every request
whose id begins with the one it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind


class Flight:
    """One call of the server. ``answered`` is set by whoever has its whole reply: then there is nothing to abort."""

    def __init__(self, deadline: Deadline) -> None:
        self.rid = uuid.uuid4().hex
        self.answered = False
        self._deadline = deadline
        self._ended: GenerationError | None = None
        self._scope: asyncio.Timeout | None = None

    @asynccontextmanager
    async def waiting(self) -> AsyncGenerator[None]:
        """Bounds what is awaited inside by the deadline, and by ``end``. Raises GenerationError."""
        if self._ended is not None:
            raise self._ended
        try:
            async with asyncio.timeout(self._deadline.timeout) as self._scope:
                yield
        except TimeoutError:
            detail = "SGLang had not answered when the deadline passed"
            raise self._ended or GenerationError(FailureKind.TIMEOUT, detail) from None
        finally:
            self._scope = None

    def end(self, why: GenerationError) -> None:
        """Whoever waits gets ``why``, now."""
        if self._ended is None:
            self._ended = why
            if self._scope is not None and not self._scope.expired():
                self._scope.reschedule(asyncio.get_running_loop().time())


class Flights:
    """All calls in the air. ``abort`` is told of each that was left before its reply."""

    def __init__(self, abort: Callable[[str], Awaitable[None]]) -> None:
        self._abort = abort
        self._open: set[Flight] = set()
        self._aborting: set[asyncio.Task[None]] = set()
        self.aborted = 0

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def board(self, deadline: Deadline) -> Generator[Flight]:
        """A flight for one call."""
        flight = Flight(deadline)
        self._open.add(flight)
        try:
            yield flight
        finally:
            self._open.discard(flight)
            if not flight.answered:
                self.aborted += 1
                task = asyncio.create_task(self._tell(flight.rid))
                self._aborting.add(task)
                task.add_done_callback(self._aborting.discard)

    def end_all(self, why: GenerationError) -> int:
        """End every flight; returns how many."""
        for flight in self._open:
            flight.end(why)
        return len(self._open)

    async def settled(self) -> None:
        """Wait until every abort that was sent has been answered."""
        await asyncio.gather(*self._aborting, return_exceptions=True)

    async def _tell(self, rid: str) -> None:
        # A server that does not take an abort is gone or hangs; the watch says so.
        with contextlib.suppress(GenerationError):
            await self._abort(rid)


class Gate:
    """Lets requests in, makes them wait, or turns them away; knows how many are inside."""

    def __init__(self) -> None:
        self.inside = 0
        self.state: Literal["open", "held", "shut"] = "shut"
        self._why = GenerationError(FailureKind.ENGINE_ERROR, "the engine is not running; await start() first")
        self._opened = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def open(self) -> None:
        """Let requests in."""
        self.state = "open"
        self._opened.set()

    def hold(self) -> None:
        """Make new requests wait until the gate opens or shuts, each at most until its own deadline."""
        self.state = "held"
        self._opened.clear()

    def shut(self, why: GenerationError) -> None:
        """Turn new requests away, and those that wait."""
        self.state, self._why = "shut", why
        self._opened.set()

    @asynccontextmanager
    async def enter(self, deadline: Deadline) -> AsyncGenerator[None]:
        """A place inside. Raises GenerationError: the gate is shut, or did not open before the deadline."""
        while self.state == "held":
            try:
                async with asyncio.timeout(deadline.timeout):
                    await self._opened.wait()
            except TimeoutError:
                detail = "the engine was taking new weights until the deadline passed"
                raise GenerationError(FailureKind.TIMEOUT, detail) from None
        if self.state == "shut":
            raise GenerationError(self._why.kind, self._why.detail, retry_after=self._why.retry_after)
        self.inside += 1
        self._empty.clear()
        try:
            yield
        finally:
            self.inside -= 1
            if self.inside == 0:
                self._empty.set()

    async def empty(self, timeout_s: float) -> bool:
        """Wait until nobody is inside; False when somebody still is after ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True
