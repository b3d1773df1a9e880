"""Rates that the endpoint allows: a token bucket (pure, time is an argument), and the small shell that waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind

BURST_S = 6.0
"""Seconds of its rate that an idle bucket saves up."""


@dataclass(slots=True)
class TokenBucket:
    """At most ``capacity`` at once, ``rate`` a second in the long run. Reservations are served in order.

    A reservation larger than the capacity waits for a full bucket and leaves it in debt, so it is paid for in full.
    """

    rate: float
    capacity: float
    level: float
    at: float = 0.0

    @classmethod
    def per_minute(cls, amount: float) -> TokenBucket:
        rate = amount / 60
        capacity = max(1.0, rate * BURST_S)
        return cls(rate=rate, capacity=capacity, level=capacity)

    def reserve(self, amount: float, now: float) -> float:
        """Take ``amount``; returns the seconds to wait until it may be used. ``release`` what is not used."""
        self._refill(now)
        wait = max(0.0, min(amount, self.capacity) - self.level) / self.rate
        self.level -= amount
        return wait

    def release(self, amount: float, now: float) -> None:
        """Give back what was reserved and not used; a negative amount takes what was used beyond it."""
        self._refill(now)
        self.level = min(self.capacity, self.level + amount)

    def _refill(self, now: float) -> None:
        self.level = min(self.capacity, self.level + max(0.0, now - self.at) * self.rate)
        self.at = max(self.at, now)


class Limiter:
    """Waits for both buckets, and for the end of a pause that the server asked all of us to make."""

    def __init__(self, requests: int | None, tokens: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = TokenBucket.per_minute(requests) if requests else None
        self._tokens = TokenBucket.per_minute(tokens) if tokens else None
        self._clock = clock
        self._quiet_until = 0.0

    def pause(self, seconds: float) -> None:
        """The server asked to be left alone: no attempt of anybody starts before that."""
        self._quiet_until = max(self._quiet_until, self._clock() + seconds)

    async def admit(self, tokens: float, deadline: Deadline) -> None:
        """Returns when a request of so many tokens may be sent.

        Raises:
            GenerationError: OVERLOADED, at once, when that is not before the deadline.
        """
        now = self._clock()
        wait = max(0.0, self._quiet_until - now)
        if self._requests is not None:
            wait = max(wait, self._requests.reserve(1, now))
        if self._tokens is not None:
            wait = max(wait, self._tokens.reserve(tokens, now))
        try:
            if wait >= deadline.left:
                detail = (
                    f"the endpoint's rate limit has room in {wait:.1f} s, after the deadline ({deadline.left:.1f} s)"
                )
                raise GenerationError(FailureKind.OVERLOADED, detail, retry_after=wait)
            if wait > 0:
                await asyncio.sleep(wait)
        except (GenerationError, asyncio.CancelledError):
            self._give_back(requests=1, tokens=tokens)
            raise

    def settle(self, reserved: float, used: float) -> None:
        """The reply is there: correct the tokens that were reserved to those that were used."""
        self._give_back(requests=0, tokens=reserved - used)

    def _give_back(self, requests: float, tokens: float) -> None:
        now = self._clock()
        if self._requests is not None:
            self._requests.release(requests, now)
        if self._tokens is not None:
            self._tokens.release(tokens, now)
