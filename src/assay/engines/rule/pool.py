"""The pool: keeps ``workers`` children ready, lends each to one question at a time, replaces those that end.

Nothing is ever queued inside a child, so the clock of an answer starts when a child takes the question, and a child
that is stuck delays nobody but whoever waits for a free one.
"""

from __future__ import annotations

import asyncio
import logging

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, StartError
from assay.core.types import FailureKind

from .config import RuleConfig
from .process import WorkerDied, WorkerProcess
from .rules import Arguments

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
"""Pause after a child that could not be started, doubled each time, so that a broken system is not hammered."""
PATIENCE_S = 0.5
"""Once the pause is longer than this the pool says that it is broken: without a child, questions fail at once."""


class RulePool:
    """Children that answer rules. ``error`` says why none can be started, until one can."""

    def __init__(self, config: RuleConfig) -> None:
        self._config = config
        self._idle: asyncio.Queue[WorkerProcess] = asyncio.Queue()
        self._workers: set[WorkerProcess] = set()
        self._renewals: set[asyncio.Task[None]] = set()
        self._closed = False
        self.error: str | None = None
        self.waiting = 0
        self.running = 0
        self.expired = 0
        self.replaced = 0

    @property
    def workers(self) -> int:
        """Children that are ready or at work."""
        return len(self._workers)

    async def start(self) -> None:
        """Returns when all children are ready. Raises StartError, and then leaves none behind."""
        started = await asyncio.gather(*(self._spawn() for _ in range(self._config.workers)), return_exceptions=True)
        for result in started:
            if isinstance(result, BaseException):
                await self.close()
                raise result

    async def answer(self, rule: str, arguments: Arguments, deadline: Deadline) -> str:
        """The rule's answer. Raises GenerationError: TIMEOUT, or ENGINE_ERROR when the child died of it."""
        if self._closed:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the rule engine is not running")
        if not self._workers and self.error:
            raise GenerationError(FailureKind.ENGINE_ERROR, self.error)
        try:
            async with asyncio.timeout(deadline.timeout):
                return await self._ask(await self._free(), rule, arguments)
        except TimeoutError:
            detail = f"rule {rule!r}: the deadline of the judgment passed before there was an answer"
            raise GenerationError(FailureKind.TIMEOUT, detail) from None

    async def close(self) -> None:
        """End all children and wait for their end."""
        self._closed = True
        for renewal in self._renewals:
            renewal.cancel()
        await asyncio.gather(*self._renewals, return_exceptions=True)
        await asyncio.gather(*(worker.kill() for worker in list(self._workers)))

    async def _free(self) -> WorkerProcess:
        """A child that is free and alive; whoever waits longest gets the next one."""
        self.waiting += 1
        try:
            while not (worker := await self._idle.get()).alive:
                pass
        finally:
            self.waiting -= 1
        return worker

    async def _ask(self, worker: WorkerProcess, rule: str, arguments: Arguments) -> str:
        self.running += 1
        answered = False
        try:
            text = await worker.ask(rule, arguments)
            answered = True
            return text
        except WorkerDied as death:
            raise self._explained(rule, death) from death
        finally:
            self.running -= 1
            if answered:
                self._idle.put_nowait(worker)
            else:
                worker.abort()

    def _explained(self, rule: str, death: WorkerDied) -> GenerationError:
        if self._closed:
            return GenerationError(FailureKind.CANCELLED, f"rule {rule!r}: the engine was closed")
        if death.expired:
            self.expired += 1
            limit = f"{self._config.rule_timeout_s:g} s"
            return GenerationError(FailureKind.TIMEOUT, f"rule {rule!r} took over {limit} (rule_timeout_s)")
        if death.out_of_memory:
            limit = f"{self._config.memory_mb} MiB"
            return GenerationError(FailureKind.ENGINE_ERROR, f"rule {rule!r} needed over {limit} (memory_mb)")
        return GenerationError(FailureKind.ENGINE_ERROR, f"rule {rule!r}: its worker {death.cause}")

    async def _spawn(self) -> None:
        worker = await WorkerProcess.start(self._config, self._on_lost)
        self._workers.add(worker)
        self._idle.put_nowait(worker)
        self.error = None

    def _on_lost(self, worker: WorkerProcess) -> None:
        self._workers.discard(worker)
        if self._closed:
            return
        self.replaced += 1
        renewal = asyncio.get_running_loop().create_task(self._renew())
        self._renewals.add(renewal)
        renewal.add_done_callback(self._renewals.discard)

    async def _renew(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                return await self._spawn()
            except StartError as error:
                log.warning("%s; trying again in %.1f s", error, pause)
                self.error = str(error) if pause > PATIENCE_S else self.error
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
