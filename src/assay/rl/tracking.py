"""The observer that writes the numbers of every step down. It stands last, so that it sees those of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from assay.tracking.config import TrackingConfig
from assay.tracking.lines import MetricLines
from assay.tracking.log import MetricLog, open_log
from assay.tracking.trackers import RunInfo

from .step import StepResult


class Tracking:
    """``Observer``: the log of the run, written in a thread."""

    def __init__(self, log: MetricLog) -> None:
        self._log = log

    @property
    def lines(self) -> MetricLines:
        """The lines of the run."""
        return self._log.lines

    async def after(self, result: StepResult) -> Mapping[str, float]:
        """Raises OutputError: the line could not be written."""
        await self.write(result.step, result.metrics)
        return {}

    async def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write numbers down.

        Raises:
            OutputError: the line could not be written.
        """
        await asyncio.to_thread(self._log.write, step, metrics)

    async def close(self) -> None:
        await asyncio.gather(*(asyncio.to_thread(tracker.close) for tracker in self._log.trackers))


def build_tracking(config: TrackingConfig, run: RunInfo) -> Tracking:
    """The tracking of a run. Raises as ``open_log``."""
    return Tracking(open_log(config, run))
