"""Watches one member: asks how it is, ends it when it is unwell, or when it has been silent for too long.

An engine in a process of its own says by itself when that process ends (``Supervised``); this is for everything else:
an engine that answers and is broken, one that hangs, one in this process.
"""

from __future__ import annotations

import asyncio
import time

from assay.core.errors import AssayError
from assay.engines.lifecycle import State

from .config import PoolConfig
from .member import Member

_ASKED = (State.READY, State.DRAINING, State.ASLEEP, State.QUARANTINED)


class Watch:
    """One per member, for all of its lives."""

    def __init__(self, member: Member, config: PoolConfig) -> None:
        self._member = member
        self._config = config
        self._loop: asyncio.Task[None] | None = None
        self._check: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop = asyncio.ensure_future(self._watch())

    async def close(self) -> None:
        tasks = {task for task in (self._loop, self._check) if task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def check(self) -> asyncio.Task[None]:
        """Look at it now; those who ask at the same time share one look."""
        if self._check is None or self._check.done():
            self._check = asyncio.ensure_future(self._look())
        return self._check

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._config.health_every_s)
            await asyncio.wait({self.check()})

    async def _look(self) -> None:
        member = self._member
        async with member.line:
            engine = member.engine
            if member.life.state not in _ASKED:
                return
            try:
                async with asyncio.timeout(self._config.health_timeout_s):
                    health = await engine.health()
            except TimeoutError:
                reason = self._silence()
            except AssayError as error:
                reason = f"it cannot say how it is: {error}"
            else:
                reason = None if health.healthy else f"it is {health.state}: {health.error}"
                if reason is None:
                    member.heard()
        if reason is not None and engine is member.engine:
            member.died(reason)

    def _silence(self) -> str | None:
        member = self._member
        member.silent = True
        seconds = time.monotonic() - member.heard_at
        return f"it hangs: no sign of life for {seconds:.1f} s" if seconds >= self._config.hang_s else None
