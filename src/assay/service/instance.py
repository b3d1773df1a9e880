"""One judge model behind its route key, live: its engine's life, its places, its raw generations.

Owns the states starting, ready, draining, asleep and failed. Does not own judging (``scoring``) nor HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import Completion, Failure, FailureKind, Request
from assay.engines.base import EngineHealth, Offloadable, Tag
from assay.engines.pool.report import PoolReport, Reporting
from assay.scoring.boundary import generate_all
from assay.scoring.records import generation_row
from assay.scoring.scorer import Scorer

from .admission import Admission
from .call import Call
from .generations import Generations
from .in_flight import InFlight, Roster

log = logging.getLogger(__name__)

State = Literal["starting", "ready", "draining", "asleep", "failed", "stopped"]
_ABORT_GRACE_S = 5.0


class Instance:
    """A scorer that takes requests while its engine can answer them."""

    def __init__(self, key: str, scorer: Scorer, *, model_path: str | None, max_in_flight: int, max_queue: int) -> None:
        self.key = key
        self.scorer = scorer
        self.admission = Admission(max_in_flight, max_queue)
        self.generations = Generations()
        self.state: State = "starting"
        self.error: AssayError | None = None
        self.asleep: frozenset[Tag] = frozenset()
        self._model_path = model_path
        self._roster = Roster(self.admission)
        self._changing = asyncio.Lock()

    @property
    def model_path(self) -> str:
        return self._model_path or self.scorer.engine.info.model

    async def start(self) -> None:
        """Start the engine; one that cannot start is ``failed`` and says why, and the service lives on."""
        try:
            await self.scorer.engine.start()
        except AssayError as error:
            self.state, self.error = "failed", error
            log.error("instance %r could not start: %s", self.key, error)
        else:
            self.state = "ready"

    def in_flight(self, call: Call, deadline: Deadline) -> InFlight:
        """A place for one request.

        Raises:
            GenerationError: the instance takes no requests now.
        """
        if self.state != "ready":
            raise self._refusal()
        return self._roster.admit(call, deadline)

    async def generate(self, request: Request, call: Call, deadline: Deadline) -> tuple[Completion, ...]:
        """Whole completions, in index order.

        Raises:
            GenerationError: there is no whole answer, and why.
        """
        begin = time.perf_counter()
        try:
            async with self.in_flight(call, deadline):
                answer = await generate_all(self.scorer.engine, [request], deadline)
        except GenerationError as error:
            self.note(request, error.failure(), begin)
            raise
        if not isinstance(answer, Failure) and any(completion.finish_reason == "abort" for completion in answer):
            answer = Failure(kind=FailureKind.ENGINE_ERROR, detail="the engine aborted before the answer was whole")
        self.note(request, answer, begin)
        if isinstance(answer, Failure):
            raise GenerationError(answer.kind, answer.detail, retry_after=answer.retry_after)
        return answer

    def note(self, request: Request, answer: Sequence[Completion] | Failure, begin: float) -> None:
        """Count and record one generation. ``begin``: when it was asked, on the performance counter."""
        failure, completions = (answer, ()) if isinstance(answer, Failure) else (None, answer)
        self.generations.add(completions, failure)
        if self.scorer.recorder is not None:
            row = generation_row(
                request=request,
                completions=completions,
                failure=failure,
                instance=self.key,
                latency_s=time.perf_counter() - begin,
            )
            self.scorer.recorder.append_generation(row)

    async def offload(self, tags: frozenset[Tag], deadline: Deadline) -> int:
        """Take no more requests, let the running ones end (until ``deadline``, then abort them), and free the memory.

        Returns the bytes freed; 0 when all of it was free already.
        """
        engine = self._offloadable()
        async with self._changing:
            if tags <= self.asleep:
                return 0
            before, self.state = self.state, "draining"
            try:
                await self._drain(deadline)
                freed = await engine.sleep(tags - self.asleep)
            except BaseException:
                self.state = before
                raise
            self.asleep |= tags
            self.state = "asleep"
            return freed

    async def onload(self, tags: frozenset[Tag]) -> int:
        """Take the memory back; ready once nothing is asleep. Returns the bytes taken."""
        engine = self._offloadable()
        async with self._changing:
            if not tags & self.asleep:
                return 0
            taken = await engine.wake(tags & self.asleep)
            self.asleep -= tags
            if not self.asleep:
                self.state = "ready"
            return taken

    async def health(self, timeout_s: float) -> EngineHealth:
        """How the instance is; never takes longer than ``timeout_s``."""
        if self.state in ("starting", "failed", "stopped"):
            error = None if self.error is None else str(self.error)
            return EngineHealth(healthy=False, state=self.state, error=error)
        told = await self._engine_health(timeout_s)
        # Asleep on purpose is healthy, unless the engine knows better (it died in its sleep, it did not wake right).
        return replace(told, state=self.state) if told.healthy and self.state != "ready" else told

    async def _engine_health(self, timeout_s: float) -> EngineHealth:
        try:
            async with asyncio.timeout(timeout_s):
                return await self.scorer.engine.health()
        except TimeoutError:
            return EngineHealth(healthy=False, state="silent", error=f"the engine said nothing within {timeout_s:g} s")
        except AssayError as error:
            return EngineHealth(healthy=False, state="lost", error=str(error))

    async def report(self, timeout_s: float) -> PoolReport | None:
        """What happens in its pool; None where there is none, or it cannot be asked within ``timeout_s``."""
        engine = self.scorer.engine
        if not isinstance(engine, Reporting):
            return None
        try:
            async with asyncio.timeout(timeout_s):
                return await engine.report()
        except (TimeoutError, AssayError):
            return None

    def _refusal(self) -> GenerationError:
        if self.state == "failed":
            return GenerationError(FailureKind.ENGINE_ERROR, f"instance {self.key!r} could not start: {self.error}")
        return GenerationError(FailureKind.ASLEEP, f"instance {self.key!r} is {self.state}", retry_after=2.0)

    def _offloadable(self) -> Offloadable:
        engine = self.scorer.engine
        if self.state in ("starting", "failed", "stopped"):
            raise self._refusal()
        if not isinstance(engine, Offloadable):
            raise GenerationError(
                FailureKind.BAD_REQUEST, f"the engine of instance {self.key!r} cannot give its memory back"
            )
        return engine

    async def _drain(self, deadline: Deadline) -> None:
        if await self._idle_within(deadline.timeout):
            return
        aborted = self._roster.abort_all(
            FailureKind.ASLEEP, f"instance {self.key!r} went to sleep before the answer was whole"
        )
        log.warning("instance %r: aborted %d requests to go to sleep", self.key, aborted)
        if not await self._idle_within(_ABORT_GRACE_S):
            detail = f"{self.admission.running} aborted requests would not end, so instance {self.key!r} stays awake"
            raise GenerationError(FailureKind.TIMEOUT, detail)

    async def _idle_within(self, seconds: float | None) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.admission.idle()
        except TimeoutError:
            return False
        return True
