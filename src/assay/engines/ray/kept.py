"""An instance's engine that outlives its process: what it was asked to be, it is again after its keeper has died.

Judges that gave their memory away do not take it back because their keeper was started anew, and weights that were put
in are put in again. Owns what is remembered. Does not own the engine's own life (``pool``).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta, Engine, EngineHealth, EngineInfo, Offloadable, Tag, Updatable
from assay.engines.pool.report import PoolReport, Reporting
from assay.engines.streaming import deltas_of

_RETRY_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """What an instance was asked to be."""

    asleep: frozenset[Tag] = frozenset()
    weights: tuple[str, str] | None = None
    """Source and version of the weights that were put in last; None for those that it starts with."""


class Notes(Protocol):
    """Where memos are kept."""

    async def recall(self) -> Memo: ...
    async def remember(self, memo: Memo) -> None: ...


class KeptEngine:
    """Engine, StreamingEngine, Offloadable and Updatable, over one that may be less."""

    def __init__(self, engine: Engine, notes: Notes) -> None:
        self._engine = engine
        self._notes = notes
        self.memo = Memo()
        self._dormant = False
        """It has not started, because it is asleep on purpose since before this process."""

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    @property
    def asleep(self) -> frozenset[Tag]:
        """What was asked to be given back and not yet asked to be taken again."""
        return self.memo.asleep

    async def start(self) -> None:
        """Start the engine as it was left; one that was left asleep starts when it is woken."""
        self.memo = await self._notes.recall()
        self._dormant = bool(self.memo.asleep)
        if not self._dormant:
            await self._begin()

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``."""
        self._need_awake()
        return await self._engine.generate(request, deadline)

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """See ``StreamingEngine.stream``."""
        self._need_awake()
        async with aclosing(deltas_of(self._engine, request, deadline)) as deltas:
            async for delta in deltas:
                yield delta

    async def health(self) -> EngineHealth:
        if self._dormant:
            return EngineHealth(healthy=True, state="asleep")
        return await self._engine.health()

    async def sleep(self, tags: frozenset[Tag]) -> int:
        """Bytes freed."""
        freed = 0 if self._dormant else await self._offloadable().sleep(tags)
        await self._note(replace(self.memo, asleep=self.memo.asleep | tags))
        return freed

    async def wake(self, tags: frozenset[Tag]) -> int:
        """Bytes taken; 0 for an engine that starts from nothing, which takes what it needs."""
        taken = 0
        awake = self.memo.asleep <= tags
        if not self._dormant:
            taken = await self._offloadable().wake(tags)
        elif awake:
            await self._begin()
            self._dormant = False
        await self._note(replace(self.memo, asleep=self.memo.asleep - tags))
        return taken

    async def update_weights(self, source: str, version: str) -> None:
        if not self._dormant:
            await self._updatable().update_weights(source, version)
        await self._note(replace(self.memo, weights=(source, version)))

    async def report(self) -> PoolReport:
        """See ``Reporting``."""
        if not isinstance(self._engine, Reporting):
            raise self._cannot("report what happens in a pool")
        return await self._engine.report()

    async def close(self) -> None:
        await self._engine.close()

    async def _begin(self) -> None:
        await self._engine.start()
        if self.memo.weights is not None:
            await self._updatable().update_weights(*self.memo.weights)

    async def _note(self, memo: Memo) -> None:
        self.memo = memo
        await self._notes.remember(memo)

    def _need_awake(self) -> None:
        if self._dormant:
            raise GenerationError(FailureKind.ASLEEP, "the engine is asleep", retry_after=_RETRY_S)

    def _offloadable(self) -> Offloadable:
        if not isinstance(self._engine, Offloadable):
            raise self._cannot("give its memory back")
        return self._engine

    def _updatable(self) -> Updatable:
        if not isinstance(self._engine, Updatable):
            raise self._cannot("take other weights")
        return self._engine

    def _cannot(self, what: str) -> GenerationError:
        return GenerationError(FailureKind.BAD_REQUEST, f"the engine of {self.info.model!r} cannot {what}")
