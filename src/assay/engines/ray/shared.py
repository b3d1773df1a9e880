"""An engine that many processes use: what an ingress replica has in the place of an instance's own engine.

It finds the instance's keeper, finds it again when that has died, and sends again what was under way: a pool answers
equal requests alike, so that costs time and changes nothing. Closing it leaves the engine to the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, StartError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta, EngineHealth, EngineInfo, Tag
from assay.engines.pool.report import PoolReport

from .letters import Lost, News
from .line import Line, Way

log = logging.getLogger(__name__)

_SENDS = 4
_CONTROL_S = 30.0
_FIRST_S, _LONGEST_S = 0.1, 2.0


class SharedEngine:
    """Engine, StreamingEngine, Offloadable and Updatable. Belongs to the event loop that starts it.

    Args:
        find: the way to the keeper; raises AssayError while there is none.
        on_news: called when anybody has changed the engine.
    """

    def __init__(
        self, find: Callable[[], Awaitable[Way]], *, model: str, on_news: Callable[[News], None] | None = None
    ) -> None:
        self._find = find
        self._on_news = on_news
        self._info = EngineInfo(model=model, weight_version="", capabilities=frozenset())
        self._line: Line | None = None
        self._why = "it has not been found yet"
        self._there = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    @property
    def info(self) -> EngineInfo:
        """As the keeper last told it: new weights that another process put in are known here too."""
        return self._info

    def listen(self, on_news: Callable[[News], None]) -> None:
        """Call ``on_news`` from now on."""
        self._on_news = on_news

    async def start(self) -> None:
        """Find the keeper and wait until its engines run; it starts them once, whoever asks.

        Raises:
            AssayError: as the engine raised it.
        """
        line = await self._begin()
        self._line = line
        self._there.set()
        self._keeping = asyncio.ensure_future(self._keep(line))

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``."""
        for _ in range(_SENDS - 1):
            line = self._line or await self._line_by(deadline)
            try:
                return await line.ask(request, deadline)
            except Lost as error:
                self._forget(line)
                log.info("request %r is sent again: %s", request.id, error.detail)
        return await (await self._line_by(deadline)).ask(request, deadline)

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """See ``StreamingEngine.stream``. Once a delta was handed out, a loss is final."""
        for attempt in range(1, _SENDS + 1):
            line, handed_out = await self._line_by(deadline), False
            try:
                async with aclosing(line.stream(request, deadline)) as deltas:
                    async for delta in deltas:
                        handed_out = True
                        yield delta
            except Lost:
                self._forget(line)
                if handed_out or attempt == _SENDS:
                    raise
            else:
                return

    async def health(self) -> EngineHealth:
        """What the keeper says; unhealthy at once when it is gone."""
        line = self._line
        if line is None or line.lost is not None:
            return EngineHealth(healthy=False, state="lost", error=f"its keeper is gone: {self._why}")
        try:
            return await line.order("health")
        except Lost as error:
            return EngineHealth(healthy=False, state="lost", error=f"its keeper is gone: {error.detail}")

    async def report(self) -> PoolReport:
        """The keeper's pool, see ``Reporting``."""
        if self._line is None:
            raise self._gone()
        return await self._line.order("report")

    async def sleep(self, tags: frozenset[Tag]) -> int:
        return await (await self._line_soon()).order("sleep", sorted(tags))

    async def wake(self, tags: frozenset[Tag]) -> int:
        return await (await self._line_soon()).order("wake", sorted(tags))

    async def update_weights(self, source: str, version: str) -> None:
        await (await self._line_soon()).order("update_weights", source, version)

    async def close(self) -> None:
        """Let go of it; what this process asked for is aborted."""
        if self._keeping is not None:
            self._keeping.cancel()
            self._keeping = None
        line, self._line = self._line, None
        self._why = "it was closed here"
        self._there.clear()
        if line is not None:
            line.close()

    async def _begin(self) -> Line:
        """A line to a keeper whose engines run. A keeper that dies meanwhile is tried again, not for ever."""
        for pause in (0.2, 1.0, 5.0, 0.0):
            try:
                line = await self._connect()
                try:
                    await line.order("start")
                except BaseException:
                    line.close()
                    raise
            except Lost as error:
                self._why = error.detail
                log.warning("the keeper of %r was lost while it started: %s", self._info.model, self._why)
                await asyncio.sleep(pause)
            else:
                return line
        raise StartError(f"the keeper of {self._info.model!r} does not stay alive: {self._why}")

    async def _keep(self, line: Line) -> None:
        """Have a line, and another one whenever it is lost."""
        while True:
            self._why = await line.ended()
            self._forget(line)
            log.warning("the keeper of %r is gone: %s", self._info.model, self._why)
            line = await self._connect_at_last()
            self._line = line
            self._there.set()
            log.warning("the keeper of %r is back", self._info.model)

    async def _connect(self) -> Line:
        """A line. Raises AssayError."""
        return await Line.to(await self._find(), self._hear)

    async def _connect_at_last(self) -> Line:
        pause = _FIRST_S
        while True:
            try:
                line = await self._connect()
                # A new keeper has not started anything yet. How it goes is told by its health.
                line.order_quietly("start")
            except AssayError as error:
                self._why = str(error)
                await asyncio.sleep(pause)
                pause = min(_LONGEST_S, 2 * pause)
            else:
                return line

    async def _line_by(self, deadline: Deadline) -> Line:
        """A line, waited for. Raises GenerationError."""
        while self._line is None:
            if self._keeping is None:
                raise self._gone()
            try:
                async with asyncio.timeout(deadline.timeout):
                    await self._there.wait()
            except TimeoutError:
                detail = f"the engine's keeper was not back before the deadline: {self._why}"
                raise GenerationError(FailureKind.TIMEOUT, detail) from None
        return self._line

    def _forget(self, line: Line) -> None:
        """It is lost; ``_keep`` gets to that a moment later."""
        if self._line is line:
            self._line = None
            self._there.clear()

    async def _line_soon(self) -> Line:
        """A line for a control call: it can wait for a keeper, and is sent once. Raises GenerationError."""
        return self._line or await self._line_by(Deadline.after(_CONTROL_S))

    def _gone(self) -> GenerationError:
        return GenerationError(FailureKind.ENGINE_ERROR, f"the keeper of {self._info.model!r} is gone: {self._why}")

    def _hear(self, news: News) -> None:
        if not news.started:
            return
        self._info = news.info
        if self._on_news is not None:
            self._on_news(news)
