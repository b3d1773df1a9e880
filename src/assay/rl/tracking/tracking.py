"""The observer that writes the numbers of every step down. It stands last, so that it sees those of the others."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

from ..stepped import Observer, Stepped
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
    """The tracking of a run; trackers start now.

    Raises:
        InputError: a tracker that was asked for by name is not installed.
    """
    wanted = config.trackers
    for name in wanted:
        need(name)
    if config.automatic and installed("trackio"):
        wanted = ("trackio",)
    elif config.automatic:
        log.info("no dashboard: pip install trackio, or name another with --tracker; metrics.jsonl has every number")
    trackers = [Guarded(name, lambda kind=KINDS[name]: kind(run)) for name in wanted]
    return Tracking(MetricLines(run.folder), trackers)


async def catch_up(
    tracking: Tracking, step: int, pending: Mapping[str, float], observers: Sequence[Observer] = ()
) -> None:
    """Make the record of a run fit a checkpoint from which ``step`` is the next one to be made.

    Lines of later steps go. Where a kill came between the checkpoint and the line of its step, the line is written now
    from what the checkpoint holds (``pending``) and from what ``observers`` find: weights are those after that step,
    so that what is measured on them (evaluation, the judge on its gold set) is what would have been measured then.

    Raises:
        OutputError: the line could not be written.
    """
    last = await asyncio.to_thread(tracking.lines.resume, step)
    if last == step - 1 or not pending:
        return
    metrics = dict(pending)
    stepped = Stepped(step=step - 1, groups=(), advantages=(), metrics=metrics)
    for observer in observers:
        metrics |= await observer.after(stepped)
    await tracking.write(step - 1, metrics)
