"""What ``assay train`` does with its flags: check, run, show. Every decision is made by the layers below."""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console

from assay.core import log
from assay.core.errors import TrainingStopped
from assay.report.training import read_training
from assay.report.training_page import write_training_page
from assay.report.training_table import print_training
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, train
from assay.tracking import lines

from .train import TrainFlags
from .training_progress import training_progress

console = Console()


def train_run(flags: TrainFlags) -> None:
    """Run the command; exit code 5 when the run was stopped for a reason, 130 after Ctrl-C."""
    log.setup("warning")
    config = _config(flags)
    if flags.dump_config:
        print(config.model_dump_json(indent=1))
        return
    result = RunResult(run_dir=config.run_dir)
    try:
        answers = config.rollout_batch_size * config.n_samples_per_prompt
        with training_progress(console, config.num_rollout, answers=answers) as tell:
            asyncio.run(train(config, result, tell=tell))
    except KeyboardInterrupt:
        console.print(f"stopped after {result.steps} steps; the same command goes on from the last checkpoint")
        sys.exit(130)
    except TrainingStopped:
        _show(result)
        raise
    _show(result)


def _config(flags: TrainFlags) -> TrainConfig:
    own = {"recipe", "dump_config"}
    return TrainConfig(**{name: value for name, value in flags if name in flags.model_fields_set and name not in own})


def _show(result: RunResult) -> None:
    """The table of the run, its page, and where everything is; nothing where no step was made."""
    if not (result.run_dir / lines.NAME).exists():
        return
    run = read_training(result.run_dir)
    write_training_page(run)
    print_training(console, run)
