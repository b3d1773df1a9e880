"""What a desk does for one line: the tasks that work for it, and the letters back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from assay.core.errors import GenerationError
from assay.core.types import FailureKind

from .letters import FromDesk, News, Refusal

log = logging.getLogger(__name__)


class Box:
    """Belongs to one event loop. ``put`` sends a letter to the line."""

    def __init__(self, put: Callable[[FromDesk], None]) -> None:
        self.put = put
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._kept: dict[int, asyncio.Task[None]] = {}
        self._hearing: dict[int, asyncio.Future[None]] = {}

    def work(self, number: int, work: Coroutine[Any, Any, None], *, to_the_end: bool = False) -> None:
        """Run what answers letter ``number``; ``to_the_end``, whether or not anybody waits for it."""
        task = asyncio.ensure_future(work)
        (self._kept if to_the_end else self._tasks)[number] = task
        task.add_done_callback(lambda done: self._done(number, done))

    def abort(self, number: int) -> None:
        """End that work; nobody is told."""
        task = self._tasks.pop(number, None)
        if task is not None:
            task.cancel()

    def tell(self, news: News) -> asyncio.Future[None]:
        """Send news; done when they have arrived, or the line is gone."""
        heard = self._hearing[news.number] = asyncio.get_running_loop().create_future()
        self.put(news)
        return heard

    def heard(self, number: int) -> None:
        future = self._hearing.pop(number, None)
        if future is not None and not future.done():
            future.set_result(None)

    def close(self) -> None:
        """Nobody is there any more: end what was for them alone."""
        for number in list(self._tasks):
            self.abort(number)
        for number in list(self._hearing):
            self.heard(number)

    def _done(self, number: int, task: asyncio.Task[None]) -> None:
        """A fault that nobody foresaw is still an answer."""
        wanted = self._tasks.pop(number, None) or self._kept.pop(number, None)
        if wanted is None:
            return
        if task.cancelled():
            self.put(Refusal(number, GenerationError(FailureKind.CANCELLED, "the engine cancelled the generation")))
            return
        fault = task.exception()
        if fault is not None:
            log.error("letter %d could not be answered", number, exc_info=fault)
            self.put(Refusal(number, GenerationError(FailureKind.ENGINE_ERROR, f"the engine failed: {fault!r}")))
