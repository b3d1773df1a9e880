"""The observer that writes the numbers of every step down. It stands last, so that it sees those of the others."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..stepped import Stepped
from .config import TrackingConfig
from .guarded import Guarded
from .lines import MetricLines
from .trackers import KINDS, RunInfo, installed, need

log = logging.getLogger(__name__)


class Tracking:
    """``Observer``: the line of the step, and the same to every tracker."""

    def __init__(self, lines: MetricLines, trackers: Sequence[Guarded] = ()) -> None:
        self.lines = lines
        self.trackers = tuple(trackers)

    async def after(self, stepped: Stepped) -> Mapping[str, float]:
        """Raises OutputError: the line could not be written."""
        await self.write(stepped.step, stepped.metrics)
        return {}

    async def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write numbers down. ``time/at`` is the moment, in Unix seconds.

        Raises:
            OutputError: the line could not be written.
        """
        found = {**metrics, "time/at": time.time()}
        await asyncio.to_thread(self.lines.write, step, found)
        for tracker in self.trackers:
            tracker.log(step, metrics)

    async def close(self) -> None:
        await asyncio.gather(*(asyncio.to_thread(tracker.close) for tracker in self.trackers))


def build_tracking(config: TrackingConfig, run: RunInfo) -> Tracking:
    """The tracking of a run; trackers start now. Lines of ``run.first_step`` and later, which are made again, go.

    Raises:
        InputError: a tracker that was asked for by name is not installed.
        OutputError: the lines cannot be written.
    """
    wanted = config.trackers
    for name in wanted:
        need(name)
    if config.automatic and installed("trackio"):
        wanted = ("trackio",)
    elif config.automatic:
        log.info("no dashboard: pip install trackio, or name another with --tracker; metrics.jsonl has every number")
    lines = MetricLines(run.folder)
    known = replace(run, told=lines.told())
    lines.resume(run.first_step)
    trackers = [Guarded(name, lambda kind=KINDS[name]: kind(known)) for name in wanted]
    return Tracking(lines, trackers)
