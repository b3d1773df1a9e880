"""What a pool tells of itself to whoever measures: what has happened to it, and who waits in it for what since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """Who waits for what since when."""

    request_id: str
    replica: int | None
    """The engine that works on it; None while it waits for one."""
    waited_s: float
    tokens: int
    attempts: int
    """Engines that have failed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """``counters``: those of ``shared.Counters``, by name. ``waiting``: some, who waits longest comes first."""

    counters: Mapping[str, float]
    waiting: tuple[Waiter, ...]

    @property
    def longest_wait_s(self) -> float:
        return self.waiting[0].waited_s if self.waiting else 0.0


@runtime_checkable
class Reporting(Protocol):
    """A pool, or what stands for one in another process."""

    async def report(self) -> PoolReport:
        """How it is. Raises AssayError where nobody can tell."""
        ...
