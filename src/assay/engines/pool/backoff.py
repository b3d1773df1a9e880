"""How long to wait before an engine is built again. Pure."""

from __future__ import annotations


class Backoff:
    """No pause at first; each further rebuild in a row that served nothing waits twice as long, up to ``most``."""

    def __init__(self, first: float, most: float) -> None:
        self.barren = 0
        """Rebuilds in a row after which no request was answered."""
        self._first = first
        self._most = most

    def served(self) -> None:
        """The engine has answered a request: it is worth having."""
        self.barren = 0

    def pause(self) -> float:
        """Seconds to wait before the next rebuild; counts it."""
        pause = 0.0 if self.barren == 0 else min(self._most, self._first * 2 ** (self.barren - 1))
        self.barren += 1
        return pause
