"""In-flight de-duplication: judgments with equal keys that run at the same time share one call of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Runs one task per key; whoever asks for the key meanwhile waits for the same task.

    A waiter that is cancelled leaves the others their result; when the last one leaves, the task is cancelled.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self, key: str, start: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The result for ``key``, and whether it was somebody else's call that brought it."""
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            flight = self._take_off(key, start)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), joined
        finally:
            flight.waiting -= 1
            if flight.waiting == 0 and not flight.task.done():
                # Out of the table at once: whoever comes next must not join a task that is being cancelled.
                self._forget(key, flight)
                flight.task.cancel()

    def _take_off(self, key: str, start: Callable[[], Awaitable[T]]) -> _Flight[T]:
        flight: _Flight[T] = _Flight(asyncio.ensure_future(_await(start)))
        self._flights[key] = flight
        flight.task.add_done_callback(lambda _: self._forget(key, flight))
        return flight

    def _forget(self, key: str, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


async def _await(start: Callable[[], Awaitable[T]]) -> T:
    return await start()
