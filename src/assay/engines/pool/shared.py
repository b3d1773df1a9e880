"""What the members of a pool have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.engines.base import Engine

from .config import PoolConfig
from .proof import Proof
from .routing import Router

Factory = Callable[[int], Engine]
"""Builds the engine of a replica, not started; called again for each rebuild."""


@dataclass(slots=True)
class Counters:
    """What has happened to a pool since it was made."""

    deaths: int = 0
    """Engines that were retired, those that did not start among them."""
    rebuilds: int = 0
    retries: int = 0
    quarantines: int = 0
    drifts: int = 0
    """Failed canaries, those that a reload mended among them."""
    sleeps: int = 0
    wakes: int = 0
    sleep_s: float = 0.0
    """Of the last sleep."""
    wake_s: float = 0.0
    """Of the last wake, the canary included."""
    slept_bytes: int = 0
    woken_bytes: int = 0

    def snapshot(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__slots__}


class Changes:
    """Wakes everybody who waits for a member to change."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.Event()

    def tell(self) -> None:
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def next(self) -> None:
        """Wait for the next change."""
        await self._next.wait()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is looked at now and after each change."""
        while not condition():
            await self.next()


@dataclass(slots=True, kw_only=True)
class Shared:
    """One per pool."""

    factory: Factory
    config: PoolConfig
    router: Router
    proof: Proof
    counters: Counters = field(default_factory=Counters)
    changes: Changes = field(default_factory=Changes)
    weights: tuple[str, str] | None = None
    """Source and version of the weights that were put in last; None for those that the engines start with."""
