"""Watches a running server: its processes four times a second, its scheduler every few seconds.

The scheduler is asked for its state, which needs no generation and is safe while the engine sleeps. The health route is
not used: it generates, which takes a second and ends a sleeping server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from typing import Literal

from assay.core.errors import GenerationError
from assay.core.types import FailureKind, Json

from .figures import figures
from .parts import Parts
from .sleeping import Sleeper

log = logging.getLogger(__name__)

LOOK_S = 0.25
HEARTBEAT_S = 2.0

State = Literal["ready", "stopped", "hung", "dead"]


class Watch:
    """``state``, ``error`` and ``told`` are what is known now; reading them costs nothing."""

    def __init__(self, parts: Parts, sleeper: Sleeper) -> None:
        self.state: State = "ready"
        self.error: str | None = None
        self.told: Mapping[str, Json] = {}
        self.died = asyncio.Event()
        self._parts = parts
        self._sleeper = sleeper
        self._heard = time.monotonic()
        self._tasks = [asyncio.create_task(each) for each in (self._look(), self._listen(), self._mourn())]

    async def close(self) -> None:
        """Stop watching."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def look(self) -> None:
        """Look at the processes, and at how long the scheduler has been silent; takes a fraction of a millisecond."""
        if self.state == "dead":
            return
        fault = self._parts.process.fault()
        if fault is not None and fault.dead:
            self._die(fault.detail)
        elif fault is not None:
            self.state, self.error = "stopped", fault.detail
        elif self._silent_s() > self._parts.config.hang_s:
            self.state, self.error = "hung", f"the scheduler has said nothing for {self._silent_s():.0f} s"
        else:
            self.state, self.error = "ready", None

    async def _mourn(self) -> None:
        """What still waits for an answer, control calls included, fails when it dies and not when the port closes."""
        await self.died.wait()
        await self._parts.server.close()

    async def _look(self) -> None:
        while self.state != "dead":
            self.look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._parts.process.ended.wait()

    async def _listen(self) -> None:
        while self.state != "dead":
            # Silence is no news. A dead server is found by its processes, and a hung one by how long it is silent.
            with contextlib.suppress(GenerationError):
                await self._parts.server.get("/server_info", self._parts.config.hang_s)
                self._heard = time.monotonic()
                self.told = figures((await self._parts.server.get("/v1/loads", HEARTBEAT_S)).data())
            await asyncio.sleep(HEARTBEAT_S)

    def _silent_s(self) -> float:
        if self._sleeper.busy:
            # A release or an update keeps the scheduler busy for as long as it copies.
            self._heard = time.monotonic()
        return time.monotonic() - self._heard

    def _die(self, why: str) -> None:
        self.state, self.error = "dead", why
        error = GenerationError(FailureKind.ENGINE_ERROR, f"SGLang died: {why}")
        self._parts.gate.shut(error)
        lost = self._parts.flights.end_all(error)
        self._sleeper.broken = self._sleeper.broken or why
        self.died.set()
        log.error("%s; %d requests were on their way. The end of its log:\n%s", error, lost, self._parts.process.tail())
