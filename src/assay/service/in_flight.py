"""One admitted request: it holds a place, and it ends early when its client leaves or the instance must go to sleep."""

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
"""A request that is answered sooner is never watched: most of the service's load costs no watcher task."""


class InFlight:
    """``async with``: waits for a place, then holds it. Giving up cancels what is awaited inside, down to the engine.

    Raises:
        GenerationError: no place, or given up (``cancelled``, ``asleep``).
    """

    __slots__ = ("_admission", "_all", "_call", "_deadline", "_since", "_task", "_timer", "_watcher")

    def __init__(self, admission: Admission, everyone: set[InFlight], call: Call, deadline: Deadline) -> None:
        self._admission = admission
        self._all = everyone
        self._call = call
        self._deadline = deadline
        self._since = 0.0
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> InFlight:
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self._watch)
        self._all.add(self)
        if not self._admission.try_enter():
            try:
                await self._admission.enter(self._deadline)
            except BaseException as error:
                self._end(error)
                raise
        self._since = time.monotonic()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admission.leave(self._since)
        self._end(error)

    def give_up(self, kind: FailureKind, detail: str) -> None:
        """End the request early, for the reason given."""
        if self._task is not None and self._call.given_up is None:
            self._call.given_up = GenerationError(kind, detail, retry_after=1.0)
            self._task.cancel()

    def _watch(self) -> None:
        self._watcher = asyncio.ensure_future(self._until_disconnect())

    async def _until_disconnect(self) -> None:
        while (await self._call.receive())["type"] != "http.disconnect":
            pass
        self.give_up(FailureKind.CANCELLED, "the client closed the connection")

    def _end(self, error: BaseException | None) -> None:
        """Stop watching. A cancellation that we caused becomes the failure it stands for; another stays as it is."""
        self._all.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if isinstance(error, asyncio.CancelledError) and self._call.given_up is not None and self._task is not None:
            self._task.uncancel()
            raise self._call.given_up from None
