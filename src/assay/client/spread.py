"""Where the next call goes, for a client that goes around the service's proxy. Pure: no clock, no connection.

Direct endpoints are replicas of one service: each answers everything. A lost one is left out until they are asked for
anew, and while there is none, calls go to the service's own address.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

ASK_EVERY_S = 30.0
"""How often to ask where the endpoints are: replicas come and go."""
ASK_AGAIN_S = 1.0
"""The same after one was lost, or none was told."""


class Spread:
    """Calls over the endpoints, each to the one with the fewest in the air.

    Args:
        home: the service's own address.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self._in_air: dict[str, int] = {}
        self._turn = 0
        self._asked_at: float | None = None
        self._whole = False
        self.known = False
        """It has been told at least once where they are, or that there are none."""

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(self._in_air)

    def due(self, now: float) -> bool:
        """Whether to ask for the endpoints; once told so, the caller asks."""
        if self._asked_at is None or now - self._asked_at >= (ASK_EVERY_S if self._whole else ASK_AGAIN_S):
            self._asked_at = now
            return True
        return False

    def told(self, endpoints: Iterable[str], *, for_good: bool = False) -> None:
        """The service has said where they are; ``for_good``: none, as it is no service that has any.

        Calls in the air go on being counted.
        """
        self._in_air = {url: self._in_air.get(url, 0) for url in endpoints}
        self._whole = bool(self._in_air) or for_good
        self.known = True

    def lost(self, url: str) -> None:
        """This endpoint did not answer."""
        if self._in_air.pop(url, None) is not None:
            self._whole = False

    @contextmanager
    def call(self, *, home: bool = False) -> Generator[str]:
        """The address of one call; ``home``: the service's own, whatever there is."""
        url = self.home if home or not self._in_air else self._next()
        if url in self._in_air:
            self._in_air[url] += 1
        try:
            yield url
        finally:
            if url in self._in_air:
                self._in_air[url] = max(0, self._in_air[url] - 1)

    def _next(self) -> str:
        """The idlest; those that are equally idle take turns."""
        self._turn += 1
        urls = list(self._in_air)
        turned = urls[self._turn % len(urls) :] + urls[: self._turn % len(urls)]
        return min(turned, key=self._in_air.__getitem__)
