"""Seconds by phase. On CUDA they are read off the device's own marks, so that nothing waits until somebody asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import torch


class Clock:
    """Adds up the seconds of named phases."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._phases: list[tuple[str, Callable[[], float]]] = []

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        mark = _mark(self._device)
        try:
            yield
        finally:
            self._phases.append((name, mark()))

    @property
    def seconds(self) -> dict[str, float]:
        """So far, by name. Waits for the device."""
        found: dict[str, float] = {}
        for name, spent in self._phases:
            found[name] = found.get(name, 0.0) + spent()
        return found


def _mark(device: torch.device) -> Callable[[], Callable[[], float]]:
    """Begin to measure. The call ends it; what that gives is asked for the seconds, later."""
    if device.type != "cuda":
        begun = time.perf_counter()

        def ended() -> Callable[[], float]:
            spent = time.perf_counter() - begun
            return lambda: spent

        return ended
    stream = torch.cuda.current_stream(device)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record(stream)

    def recorded() -> Callable[[], float]:
        last.record(stream)

        def spent() -> float:
            last.synchronize()
            return first.elapsed_time(last) / 1000

        return spent

    return recorded
