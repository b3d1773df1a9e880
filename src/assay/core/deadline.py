"""One deadline that crosses every hop of a judgment: client, service, scorer, engine, and each retry inside it."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock of this process. Over HTTP it travels as the seconds that are left."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    @classmethod
    def never(cls) -> Deadline:
        return cls(float("inf"))

    @property
    def left(self) -> float:
        """Seconds left, never negative; infinite for ``never``."""
        return max(0.0, self.at - time.monotonic())

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self.at

    @property
    def timeout(self) -> float | None:
        """``left`` in the form that ``asyncio.timeout`` and friends take: None when there is no deadline."""
        return None if self.at == float("inf") else self.left

    def sooner(self, seconds: float) -> Deadline:
        """This deadline, or the one ``seconds`` from now if that comes first."""
        return Deadline(min(self.at, time.monotonic() + seconds))
