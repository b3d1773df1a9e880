"""A whole training run: from its settings to its last checkpoint, in a folder that says everything about it.

The same command again goes on where the last one stopped, also after kill -9; with other settings it is refused. Owns
the folder and the order of events. Does not own the parts (``build``), nor what is shown of it (``cli``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.placement import PlacementPlan, dump_plan, parse_cluster, place
from assay.tracking.config import TrackingConfig
from assay.tracking.lines import BASELINE, MetricLines
from assay.tracking.trackers import need
from assay.training import folders
from assay.training.run_folder import begin_folder, one_writer
from assay.training.saving import SavingConfig

from .clock import Clock
from .config import TrainConfig
from .monitor.config import MonitorConfig
from .progress import StepMade, Tell, ToldSteps
from .run_data import read_data
from .step import Observer, StepResult

if TYPE_CHECKING:
    from .build import Run

CONFIG, PLAN, MODEL = "config.json", "plan.json", "model"

_MAY_CHANGE = frozenset(
    {
        *("num_rollout", "load", "tracker", "tracker_run"),
        *SavingConfig.model_fields,
        *("minutes", "stop_after_minutes", "export_model", "rollout_attach"),
        *("ray", "ray_address", "start_timeout_s", "train_timeout_s"),
        *("weight_sync", "weight_bucket_mib", "weight_sync_timeout_s"),
        # What decides when a run stops, and where its judges are.
        *("max_dead_steps", "max_judge_failure_rate", "genrm_url"),
        *MonitorConfig.model_fields,
    }
)
"""Settings under which the steps that were made are the same steps."""


@dataclass(slots=True, kw_only=True)
class RunResult:
    """What came of it, filled while it goes."""

    run_dir: Path
    first_step: int = 0
    steps: int = 0
    baseline: Mapping[str, float] = field(default_factory=dict[str, float])
    last: Mapping[str, float] = field(default_factory=dict[str, float])
    running: bool = False
    """Whether it makes steps: from then on it can be asked to leave."""
    done: bool = False
    """To the end, not to the end of this call."""


def make_plan(config: TrainConfig) -> PlacementPlan | None:
    """Who has which GPUs; None: everything in this process, with nothing to share.

    Raises:
        InputError: the layout is illegal, or the cluster that it needs is not said.
    """
    if config.resource is None:
        if config.colocate or config.fully_async or config.ray:
            raise InputError("--colocate, --fully-async and --ray place roles on GPUs: say --resource as well")
        return None
    if config.cluster is None:
        raise InputError("--resource places roles on GPUs: say which there are, e.g. --cluster 1x8xH200")
    return place(config, parse_cluster(config.cluster))


async def train(
    config: TrainConfig,
    result: RunResult,
    observers: Sequence[Observer] = (),
    tell: Tell | None = None,
    leaving: Callable[[], bool] | None = None,
) -> None:
    """Train; ``result`` is up to date whenever this ends.

    Args:
        observers: look at every step after those of the run itself.
        tell: told what the run does, step by step and within a step.
        leaving: asked after every step; True ends the run there, with its state saved.

    Raises:
        InputError, StartError: it cannot begin (another run may be writing the folder); nothing was trained.
        TrainingStopped: it must not go on; a checkpoint is saved.
        OutputError: a result could not be written; the last checkpoint is untouched.
    """
    plan = make_plan(config)
    for name in config.settings(TrackingConfig).trackers:
        need(name)
    data = await asyncio.to_thread(read_data, config)
    with ExitStack() as held:
        one_writer(config.run_dir, config.checkpoints, held)
        config = prepared(config)
        if plan is not None:
            write_whole(config.run_dir / PLAN, json.dumps(dump_plan(plan), indent=1))
        from .build import open_run

        async with open_run(config, plan, data, tell) as run:
            clock = Clock.of(config, run.loop.memory.step)
            run.loop.leaving = lambda: clock.over() or clock.call_is_over() or (leaving is not None and leaving())
            await _steps(run, result, clock, observers, tell)
            result.done = run.loop.memory.step >= config.num_rollout or clock.over()
            if result.done and config.export_model:
                await run.loop.parts.trainer.export(config.run_dir / MODEL)


async def _steps(run: Run, result: RunResult, clock: Clock, observers: Sequence[Observer], tell: Tell | None) -> None:
    memory = run.loop.memory
    result.first_step = result.steps = memory.step
    told = () if tell is None else (ToldSteps(tell),)
    run.loop.observers = run.observers.all(_Noted(result), *told, *observers)
    run.loop.stopped = run.observers.stopped
    await run.loop.parts.publisher.publish()
    if memory.step == 0:
        result.baseline = await run.observers.baseline()
        if tell is not None and result.baseline:
            tell(StepMade(step=BASELINE, metrics=result.baseline))
    result.running = True
    if memory.step == 0 or not clock.over():
        await run.loop.run()


def saved_steps(config: TrainConfig) -> int | None:
    """How many steps the same command would go on after; None: it would begin anew."""
    known = folders.checkpoints(config.checkpoints)
    return folders.step_of(known[-1]) if known else None


def prepared(config: TrainConfig) -> TrainConfig:
    """The settings, with the checkpoint to go on from, and the run's folder with the settings in it.

    The same command goes on from the run's own last checkpoint, also where ``load`` names what the run began with;
    another ``load`` than before is obeyed. A run that left nothing yet may be begun with other settings.

    Raises:
        InputError: the folder holds another run. OutputError: it cannot be written.
    """
    told = json.loads(config.model_dump_json())
    path = config.run_dir / CONFIG
    begun = bool(folders.checkpoints(config.checkpoints)) or MetricLines(config.run_dir).last() is not None
    before = begin_folder(path, told, may_change=_MAY_CHANGE, begun=begun)
    if config.load in (None, before.get("load")) and folders.checkpoints(config.checkpoints):
        return config.model_copy(update={"load": str(config.checkpoints)})
    return config


class _Noted:
    """Keeps the result up to date."""

    def __init__(self, result: RunResult) -> None:
        self._result = result

    async def after(self, result: StepResult) -> Mapping[str, float]:
        self._result.steps, self._result.last = result.step + 1, result.metrics
        return {}

    async def close(self) -> None: ...
