"""Bounded admission: so many requests run, so many wait in order of arrival, and the next one is told to come back."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind

_SMOOTHING = 0.05


class Admission:
    """The places of one instance. ``running`` and ``waiting`` are live."""

    def __init__(self, max_running: int, max_waiting: int) -> None:
        self.running = 0
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._queue: deque[asyncio.Future[None]] = deque()
        self._mean_s = 0.0
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def retry_after(self) -> float:
        """Seconds in which the queue of now will have been worked off, by the recent mean; between 1 and 60."""
        return min(60.0, max(1.0, math.ceil(self._mean_s * (self.waiting + 1) / self._max_running)))

    def try_enter(self) -> bool:
        """Take a free place, if nobody waits for it."""
        if self.running >= self._max_running or self._queue:
            return False
        self.running += 1
        self._empty.clear()
        return True

    async def enter(self, deadline: Deadline) -> None:
        """Take a place, waiting for one in order of arrival.

        Raises:
            GenerationError: ``overloaded`` (the queue is full) at once, or ``timeout``.
        """
        if self.try_enter():
            return
        if self.waiting >= self._max_waiting:
            detail = f"the queue is full: {self.running} requests run and {self.waiting} wait"
            raise GenerationError(FailureKind.OVERLOADED, detail, retry_after=self.retry_after)
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with asyncio.timeout(deadline.timeout):
                await place
        except BaseException as error:
            self._give_back(place)
            if isinstance(error, TimeoutError):
                raise GenerationError(FailureKind.TIMEOUT, "still in the queue when the deadline passed") from None
            raise

    def leave(self, since: float) -> None:
        """Give the place to whoever waits longest. ``since``: when it was taken, on the monotonic clock."""
        self._mean_s += _SMOOTHING * (time.monotonic() - since - self._mean_s)
        self._pass_on()

    async def idle(self) -> None:
        """Wait until nothing runs and nothing waits."""
        await self._empty.wait()

    def _pass_on(self) -> None:
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                return
        self.running -= 1
        if self.running == 0:
            self._empty.set()

    def _give_back(self, place: asyncio.Future[None]) -> None:
        """A waiter left: out of the queue, or, if it was handed a place in the same moment, on to the next."""
        if place.done() and not place.cancelled():
            self._pass_on()
        elif place in self._queue:
            self._queue.remove(place)
