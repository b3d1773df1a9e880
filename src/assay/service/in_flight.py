"""The admitted requests of one instance: each ends early when its client leaves or the instance must go to sleep."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind

from .admission import Admission
from .call import Call

PATIENCE_S = 0.05
"""Requests that are answered sooner are not watched: most of the service's load costs no timer and no watcher task."""


class Roster:
    """All requests of one instance, and the watch over their clients: one timer for all, while there are any."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self._everyone: set[InFlight] = set()
        self._sweeping = False

    def admit(self, call: Call, deadline: Deadline) -> InFlight:
        """A request that wants a place; enter it with ``async with``."""
        return InFlight(self, call, deadline)

    def abort_all(self, kind: FailureKind, detail: str) -> int:
        """Give up every request; returns how many."""
        everyone = tuple(self._everyone)
        for request in everyone:
            request.give_up(kind, detail)
        return len(everyone)

    def add(self, request: InFlight) -> None:
        self._everyone.add(request)
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(PATIENCE_S, self._sweep)

    def remove(self, request: InFlight) -> None:
        self._everyone.discard(request)

    def _sweep(self) -> None:
        old = time.monotonic() - PATIENCE_S
        for request in self._everyone:
            request.watch(old)
        self._sweeping = bool(self._everyone)
        if self._sweeping:
            asyncio.get_running_loop().call_later(PATIENCE_S, self._sweep)


class InFlight:
    """``async with``: waits for a place, then holds it. Giving up cancels what is awaited inside, down to the engine.

    Raises:
        GenerationError: no place, or given up (``cancelled``, ``asleep``).
    """

    __slots__ = ("_call", "_deadline", "_roster", "_since", "_task", "_watcher")

    def __init__(self, roster: Roster, call: Call, deadline: Deadline) -> None:
        self._roster = roster
        self._call = call
        self._deadline = deadline
        self._since = time.monotonic()
        self._task: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> InFlight:
        self._task = asyncio.current_task()
        self._roster.add(self)
        if not self._roster.admission.try_enter():
            try:
                await self._roster.admission.enter(self._deadline)
            except BaseException as error:
                self._end(error)
                raise
            self._since = time.monotonic()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._roster.admission.leave(self._since)
        self._end(error)

    def give_up(self, kind: FailureKind, detail: str) -> None:
        """End the request early, for the reason given."""
        if self._task is not None and self._call.given_up is None:
            self._call.given_up = GenerationError(kind, detail, retry_after=1.0)
            self._task.cancel()

    def watch(self, older_than: float) -> None:
        """See to it that the client's leaving is noticed, if the request began before ``older_than``."""
        if self._watcher is None and self._since <= older_than:
            self._watcher = asyncio.ensure_future(self._until_disconnect())

    async def _until_disconnect(self) -> None:
        while (await self._call.receive())["type"] != "http.disconnect":
            pass
        self.give_up(FailureKind.CANCELLED, "the client closed the connection")

    def _end(self, error: BaseException | None) -> None:
        """Stop watching. A cancellation that we caused becomes the failure it stands for; another stays as it is."""
        self._roster.remove(self)
        if self._watcher is not None:
            self._watcher.cancel()
        if isinstance(error, asyncio.CancelledError) and self._call.given_up is not None and self._task is not None:
            self._task.uncancel()
            raise self._call.given_up from None
