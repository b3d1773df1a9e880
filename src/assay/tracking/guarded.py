"""A tracker kept apart: in a thread of its own, so that neither its faults nor its network are the run's.

Its first fault is told once, in the log; the run goes on, and ``metrics.jsonl`` has every number anyway.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping

from .trackers import Tracker

log = logging.getLogger(__name__)

CLOSE_S = 60.0
"""Seconds that a tracker has at the end to send what is left."""


class Guarded:
    """``make`` is called in the thread, and nothing here raises. ``error``: why the tracker stopped, if it did."""

    def __init__(self, name: str, make: Callable[[], Tracker], *, close_s: float = CLOSE_S) -> None:
        self.name = name
        self.error: str | None = None
        self._make = make
        self._close_s = close_s
        self._entries: queue.SimpleQueue[tuple[int, dict[str, float]] | None] = queue.SimpleQueue()
        # A daemon: a tracker that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=f"tracker {name}", daemon=True)
        self._thread.start()

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand over the numbers of a step; never waits."""
        if self.error is None:
            self._entries.put((step, dict(metrics)))

    def close(self) -> None:
        """Wait for what is left to be sent, but not for ever."""
        self._entries.put(None)
        self._thread.join(self._close_s)
        if self._thread.is_alive():
            self._fail(f"it was not done within {self._close_s:g} s of the end")

    def _run(self) -> None:
        try:
            tracker = self._make()
            while (entry := self._entries.get()) is not None:
                tracker.log(*entry)
            tracker.close()
        except Exception as error:  # noqa: BLE001 - whatever a tracker raises, the run is not about it
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, why: str) -> None:
        if self.error is None:
            self.error = why
            log.warning("tracker %s stopped (%s); the run goes on, its numbers are in metrics.jsonl", self.name, why)
