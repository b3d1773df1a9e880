"""When a second copy of a slow request is worth sending. Pure: latencies in, decisions out.

The copy carries the same seed, so whichever comes first says the same.
"""

from __future__ import annotations

from collections import deque

from assay.core.stats import percentile

_WINDOW = 256
_LEAST = 32
_REFRESH = 16


class Hedging:
    """``quantile`` of the recent latencies is how long a request may take alone; ``share`` bounds the copies."""

    def __init__(self, quantile: float | None, share: float) -> None:
        self.asked = 0
        self.sent = 0
        self.won = 0
        self._quantile = quantile
        self._share = share
        self._seconds: deque[float] = deque(maxlen=_WINDOW)
        self._patience: float | None = None

    def note(self, seconds: float) -> None:
        """One request was answered after ``seconds``."""
        self.asked += 1
        if self._quantile is None:
            return
        self._seconds.append(seconds)
        if len(self._seconds) >= _LEAST and (self._patience is None or self.asked % _REFRESH == 0):
            self._patience = percentile(self._seconds, 100 * self._quantile)

    @property
    def patience(self) -> float | None:
        """Seconds after which a request counts as slow; None while that is unknown, or hedging is off."""
        return self._patience

    def take(self) -> bool:
        """Whether one more copy may be sent; counts it."""
        if self.sent + 1 > self._share * self.asked:
            return False
        self.sent += 1
        return True
