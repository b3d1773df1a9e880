"""An engine in an actor of its own, behind the engine protocols: what a pool has as a member.

Owns the actor: starts it, knows when it is gone, ends it. Does not decide when that is (``pool``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, StartError
from assay.core.types import Completion, Request
from assay.engines.base import Delta, EngineHealth, EngineInfo, Tag

from .letters import Lost, News
from .line import Line, Way

_CLOSE_S = 10.0


class Run(Way, Protocol):
    """An actor that has been started."""

    def kill(self) -> None:
        """End it at once, whatever it does."""
        ...


class Berth(Protocol):
    """Starts actors."""

    def launch(self) -> Run: ...


class RayEngine:
    """Engine, StreamingEngine, Offloadable, Updatable, and what a pool can use beyond (``pool/traits``).

    It refuses what the engine in the actor cannot do. An actor that dies fails everything under way at once.
    """

    def __init__(self, berth: Berth, *, model: str, start_timeout_s: float = 1800.0) -> None:
        self._berth = berth
        self._start_timeout_s = start_timeout_s
        self._info = EngineInfo(model=model, weight_version="", capabilities=frozenset())
        self._run: Run | None = None
        self._line: Line | None = None

    @property
    def info(self) -> EngineInfo:
        """Capabilities and version are known once it has started."""
        return self._info

    async def start(self) -> None:
        """Start the actor and the engine in it.

        Raises:
            InputError: the engine says so. StartError: it did not start, or not in time.
        """
        try:
            async with asyncio.timeout(self._start_timeout_s):
                self._run = self._berth.launch()
                self._line = await Line.to(self._run, self._hear)
                await self._line.order("start")
        except (GenerationError, TimeoutError) as error:
            self.kill()
            why = error.detail if isinstance(error, GenerationError) else f"not within {self._start_timeout_s:g} s"
            raise StartError(f"the actor of {self._info.model!r} did not start: {why}") from error
        except BaseException:
            self.kill()
            raise

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``. ENGINE_ERROR when the actor dies, or is not there."""
        return await self._open().ask(request, deadline)

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """See ``StreamingEngine.stream``."""
        async with aclosing(self._open().stream(request, deadline)) as deltas:
            async for delta in deltas:
                yield delta

    async def health(self) -> EngineHealth:
        """What the engine says; unhealthy when there is no actor."""
        try:
            return await self._open().order("health")
        except Lost as error:
            return EngineHealth(healthy=False, state="dead", error=error.detail)

    async def sleep(self, tags: frozenset[Tag]) -> int:
        return await self._open().order("sleep", sorted(tags))

    async def wake(self, tags: frozenset[Tag]) -> int:
        return await self._open().order("wake", sorted(tags))

    async def update_weights(self, source: str, version: str) -> None:
        await self._open().order("update_weights", source, version)

    async def reload(self) -> None:
        await self._open().order("reload")

    async def held_bytes(self) -> int | None:
        return await self._open().order("memory")

    async def lost(self) -> str:
        """Wait until the actor has ended, and say how. It must have been started."""
        return await self._open().ended()

    def kill(self) -> None:
        """End the actor at once, whatever it does."""
        if self._run is not None:
            self._run.kill()
        if self._line is not None:
            self._line.lose("its actor was killed")

    async def close(self) -> None:
        """Let the engine close, then end its actor. Closing twice is fine."""
        line = self._line
        try:
            if line is not None and line.lost is None:
                await line.order("close", deadline=Deadline.after(_CLOSE_S))
        except AssayError:
            pass  # what does not close is killed, as everything is in the end
        finally:
            self.kill()

    def _hear(self, news: News) -> None:
        if news.started:
            self._info = news.info

    def _open(self) -> Line:
        if self._line is None:
            raise Lost(f"the actor of {self._info.model!r} has not started")
        return self._line
