"""Admission by tokens: what the replicas owe together stays within a budget, and who is refused learns when to return.

Pure: the caller says what time it is.
"""

from __future__ import annotations

from collections import deque

from assay.core.errors import GenerationError
from assay.core.types import FailureKind

_WINDOW = 64
_SOONEST_S, _LATEST_S = 0.1, 60.0


class TokenBudget:
    """``owed`` tokens are admitted and not answered yet, waiting or running."""

    def __init__(self, per_replica: int) -> None:
        self.owed = 0
        self._per_replica = per_replica
        self._left: deque[tuple[float, int]] = deque(maxlen=_WINDOW)

    def admit(self, tokens: int, replicas: int, now: float) -> None:
        """Take ``tokens`` on. One request larger than the whole budget is taken when nothing else is owed.

        Raises:
            GenerationError: ``overloaded``, with the time in which the room will have been worked free.
        """
        limit = self._per_replica * max(1, replicas)
        over = self.owed + tokens - limit
        if over > 0 and self.owed:
            detail = f"{self.owed} tokens are owed and {tokens} more would be over the budget of {limit}"
            raise GenerationError(FailureKind.OVERLOADED, detail, retry_after=self.retry_after(over, now))
        self.owed += tokens

    def leave(self, tokens: int, now: float) -> None:
        """They are answered, or nobody waits for them any more."""
        self.owed -= tokens
        self._left.append((now, tokens))

    def retry_after(self, tokens: int, now: float) -> float:
        """Seconds until ``tokens`` have drained, at the recent rate; 1 while the rate is unknown."""
        if len(self._left) < 2:
            return 1.0
        seconds = max(1e-3, now - self._left[0][0])
        rate = sum(left for _, left in self._left) / seconds
        return round(min(_LATEST_S, max(_SOONEST_S, tokens / max(rate, 1e-9))), 2)
