"""The log of a run's numbers: its lines, and every tracker that was asked for."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .config import TrackingConfig
from .guarded import Guarded
from .lines import NAME, MetricLines
from .trackers import KINDS, RunInfo, installed, need

log = logging.getLogger(__name__)


class MetricLog:
    """Writes the numbers of a step down; blocks for as long as the disk does."""

    def __init__(self, lines: MetricLines, trackers: Sequence[Guarded] = ()) -> None:
        self.lines = lines
        self.trackers = tuple(trackers)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """The line of a step, and the same to every tracker. ``time/at`` is the moment, in Unix seconds.

        Raises:
            OutputError: the line could not be written.
        """
        self.lines.write(step, {**metrics, "time/at": time.time()})
        for tracker in self.trackers:
            tracker.log(step, metrics)

    def close(self) -> None:
        """Wait until the trackers have sent what is left."""
        for tracker in self.trackers:
            tracker.close()


def open_log(config: TrackingConfig, run: RunInfo) -> MetricLog:
    """The log of a run; trackers start now. Lines of ``run.first_step`` and later, which are made again, go.

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
        log.warning(
            "no dashboard, trackio is not installed; every number is in %s. Fix: pip install 'assay[tracking]', or "
            "--tracker none",
            run.folder / NAME,
        )
    lines = MetricLines(run.folder)
    known = replace(run, told=lines.told())
    lines.resume(run.first_step)
    return MetricLog(lines, [Guarded(name, lambda kind=KINDS[name]: kind(known)) for name in wanted])
