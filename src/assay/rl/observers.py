"""Whoever looks at a run, in the order in which they look: record, evaluation, monitors, tracking, then those of the
caller, and last what may stop the run, when everything is written down.

Owns: the order, and that what an earlier process left fits where the run goes on. Does not own: what any of them does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from assay.scoring.scorer import Scorer
from assay.tracking.config import TrackingConfig
from assay.tracking.lines import BASELINE, read_lines
from assay.tracking.trackers import RunInfo

from .config import TrainConfig
from .evaluation import EvalConfig, Evaluation, eval_groups
from .monitor.build import Monitors, build_monitors
from .monitor.config import MonitorConfig
from .record import RecordConfig, SampleRecord
from .residency import Enter
from .rewards.config import RewardConfig
from .rollout.config import RolloutConfig
from .run_data import RunData
from .sampler import Sampler
from .step import Observer, StepResult
from .tracking import Tracking, build_tracking


class Observers:
    """The observers of a run."""

    def __init__(self, record: SampleRecord, evaluation: Evaluation, monitors: Monitors, tracking: Tracking) -> None:
        self._record = record
        self._evaluation = evaluation
        self._monitors = monitors
        self._tracking = tracking

    async def start(self) -> None:
        """Raises InputError, StartError: a judge that the monitors ask is not there."""
        await self._monitors.start()

    def all(self, *others: Observer) -> tuple[Observer, ...]:
        """Everybody; ``others`` see what these found."""
        return (self._record, self._evaluation, *self._monitors.all, self._tracking, *others, *self._monitors.last)

    async def stopped(self, result: StepResult) -> None:
        """Keep the answers of a step that will not be made because of them. Raises OutputError."""
        await self._record.write(result)

    async def baseline(self) -> Mapping[str, float]:
        """Measure, and write down, what the policy can do before the first step, unless that is known already."""
        lines = self._tracking.lines
        if await asyncio.to_thread(lines.last) is not None:
            return (await asyncio.to_thread(read_lines, lines.path))[-1]
        found = await self._evaluation.baseline()
        if found:
            await self._tracking.write(BASELINE, found)
        return found

    async def close(self) -> None:
        await self._monitors.close()
        await self._tracking.close()


def build_observers(
    config: TrainConfig,
    data: RunData,
    sampler: Sampler,
    judges: Mapping[str, Scorer] | None,
    enter: Enter | None,
    first_step: int,
) -> Observers:
    """The observers that the settings ask for. Records of ``first_step`` and later, which are made again, go.

    Args:
        judges: those of this run, by route key.
        enter: for modes in which rollout and judges are never awake together.

    Raises:
        InputError: a judge cannot be had. OutputError: old records cannot be removed.
    """
    monitors = build_monitors(
        config.settings(MonitorConfig),
        config.settings(RewardConfig),
        sampler.rewards.reward.reward,
        gold=data.gold,
        backends=judges,
        enter=enter,
        labelled=any(row.label is not None for row in data.rows),
    )
    record = SampleRecord(config.run_dir, config.settings(RecordConfig))
    evaluation = _evaluation(config, data, sampler, enter)
    tracking = build_tracking(config.settings(TrackingConfig), _info(config, first_step))
    for one in (record, evaluation):
        one.resume(first_step)
    monitors.resume(read_lines(tracking.lines.path), first_step)
    return Observers(record, evaluation, monitors, tracking)


def _evaluation(config: TrainConfig, data: RunData, sampler: Sampler, enter: Enter | None) -> Evaluation:
    own, training = config.settings(EvalConfig), config.settings(RolloutConfig)
    rollout = own.rollout(training)
    return Evaluation(
        data.sets,
        own,
        eval_groups(sampler.engine, sampler.tokenizer, own, training, sampler.rewards.eval_inline),
        steps=config.num_rollout,
        run=config.run_dir,
        scoring=sampler.rewards.evaluated(sampler.answering(rollout), rollout, own.eval_reward_key),
        enter=enter,
    )


def _info(config: TrainConfig, step: int) -> RunInfo:
    name = config.tracker_run or ""
    return RunInfo(folder=config.run_dir, project=config.tracker_project, name=name, first_step=step)
