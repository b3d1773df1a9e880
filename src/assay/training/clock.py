"""Seconds by phase. Waits for the device at the end of a phase, so that work lands in the phase that began it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

import torch


class Clock:
    """Adds up the seconds of named phases."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun
