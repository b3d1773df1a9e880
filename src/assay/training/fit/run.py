"""A whole fit: from its settings to an exported model, in a folder that says everything about it.

The same command again goes on where the last one stopped, also after kill -9; with other settings it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from assay.core.errors import AssayError
from assay.tracking.config import TrackingConfig
from assay.tracking.lines import MetricLines
from assay.tracking.log import MetricLog, open_log
from assay.tracking.trackers import RunInfo

from .. import folders
from ..ranks import Ranks
from ..run_folder import CONFIG, begin_folder, one_writer
from ..trainer import MakePolicy, Trainer
from .config import MAY_CHANGE, FitConfig
from .loop import Fit, FitResult, Tell
from .task import Task
from .torchrun import joined

MODEL, ADAPTER = "model", "adapter"
_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What there is to fit. ``policy``: makes the model; None for the causal language model itself."""

    task: Task
    policy: MakePolicy | None = None


def run_fit(
    config: FitConfig,
    make: Callable[[], Fitted],
    result: FitResult,
    tell: Tell | None = None,
    leaving: Callable[[], bool] = lambda: False,
) -> bool:
    """Fit; ``result`` is up to date whenever this ends. Returns whether this process is the one that shows it.

    Args:
        make: loads and checks the data. Called before the model is loaded.
        tell: told every update, on the first rank.
        leaving: asked after every update; True ends the fit there, with its state saved.

    Raises:
        InputError, StartError: it cannot begin; nothing was trained.
        TrainingStopped: it must not go on; OutputError: a result could not be written.
    """
    with joined(), ExitStack() as held:
        ranks = Ranks()
        load = _begun(config, ranks, held)
        fitted = make()
        trainer = Trainer(config.trainer(load), policy=fitted.policy)
        log = _open(config) if ranks.first else None
        told = tell if ranks.first else None
        fit = Fit(fitted.task, trainer, config, result, open_log=log, tell=told, leaving=leaving)
        fit.run()
        if result.done:
            _export(trainer, config)
        return ranks.first


def _begun(config: FitConfig, ranks: Ranks, held: ExitStack) -> Path | None:
    """The checkpoints to go on from. The first rank holds the folder, writes the settings; its error is everybody's."""
    failed: AssayError | None = None
    if ranks.first:
        told = json.loads(config.model_dump_json())
        try:
            one_writer(config.run_dir, config.checkpoints, held)
            begun = bool(folders.checkpoints(config.checkpoints)) or MetricLines(config.run_dir).last() is not None
            begin_folder(config.run_dir / CONFIG, told, may_change=MAY_CHANGE, begun=begun)
        except AssayError as error:
            failed = error
    failed = ranks.gather(failed)[0]
    if failed is not None:
        raise failed
    return config.checkpoints if folders.checkpoints(config.checkpoints) else None


def _open(config: FitConfig) -> Callable[[int], MetricLog]:
    settings = TrackingConfig(**{name: getattr(config, name) for name in TrackingConfig.model_fields})

    def opened(first_step: int) -> MetricLog:
        info = RunInfo(
            folder=config.run_dir,
            project=config.tracker_project,
            name=config.tracker_run or "",
            config=json.loads(config.model_dump_json()),
            first_step=first_step,
        )
        return open_log(settings, info)

    return opened


def _export(trainer: Trainer, config: FitConfig) -> None:
    if config.export_model:
        dtype = None if config.export_dtype is None else _TYPES[config.export_dtype]
        trainer.export(config.run_dir / MODEL, dtype=dtype)
    if config.lora_rank:
        trainer.export_adapter(config.run_dir / ADAPTER, dtype=_TYPES[config.adapter_dtype])
