"""One request on one engine, which the pool can end without the engine's help."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta, Engine
from assay.engines.streaming import deltas_of

T = TypeVar("T")


def quietly(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task whose outcome may go unseen: whoever leaves does not look at it, and it is no news then."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class Flight:
    """Made on the event loop that awaits it, for one ``answer`` or one ``deltas``."""

    def __init__(self, engine: Engine, request: Request, deadline: Deadline) -> None:
        self._engine = engine
        self._request = request
        self._deadline = deadline
        self._task: asyncio.Task[Any] | None = None
        self._ended_by: GenerationError | None = None

    def end(self, reason: GenerationError) -> None:
        """Abort it; whoever awaits it gets ``reason``."""
        if self._task is not None and not self._task.done():
            self._ended_by = reason
            self._task.cancel()

    async def answer(self) -> tuple[Completion, ...]:
        """The engine's answer. Leaving aborts the generation, and does not wait for the engine to have noticed."""
        task = self._task = quietly(self._engine.generate(self._request, self._deadline))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        return self._result(task)

    async def deltas(self, on_progress: Callable[[], None]) -> AsyncGenerator[Delta, None]:
        """The engine's answer as it grows; of an engine that does not stream, whole texts.

        ``on_progress`` is called whenever the engine shows that it works on it.
        """
        queue: asyncio.Queue[Delta | None] = asyncio.Queue()
        task = self._task = quietly(self._pump(queue))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (delta := await queue.get()) is not None:
                on_progress()
                yield delta
        finally:
            task.cancel()
        self._result(task)

    def _result(self, task: asyncio.Task[Any]) -> Any:
        if self._ended_by is not None:
            raise self._ended_by
        if task.cancelled():
            raise GenerationError(FailureKind.CANCELLED, "the engine cancelled the generation")
        return task.result()

    async def _pump(self, queue: asyncio.Queue[Delta | None]) -> None:
        async with aclosing(deltas_of(self._engine, self._request, self._deadline)) as deltas:
            async for delta in deltas:
                queue.put_nowait(delta)
