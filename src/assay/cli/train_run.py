"""What ``assay train`` does with its flags: check, run, show. Every decision is made by the layers below."""

from __future__ import annotations

import sys

from assay.core import log
from assay.core.errors import TrainingStopped
from assay.report.training import read_training
from assay.report.training_page import write_training_page
from assay.report.training_table import print_training
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, saved_steps, train
from assay.tracking import lines

from .leaving import Leaving
from .showing import console, say
from .train import TrainFlags
from .train_progress import training_progress


def train_run(flags: TrainFlags) -> None:
    """Run the command; exit code 5 when the run was stopped for a reason, 130 after Ctrl-C, 143 after SIGTERM."""
    log.setup("warning")
    config = _config(flags)
    if flags.dump_config:
        print(config.model_dump_json(indent=1))
        return
    result = RunResult(run_dir=config.run_dir)
    leaving = Leaving(lambda times: _tell_leaving(times, running=result.running))
    try:
        answers = config.rollout_batch_size * config.n_samples_per_prompt
        with training_progress(console, config.num_rollout, answers=answers) as tell:
            ended = leaving.run(train(config, result, tell=tell, leaving=leaving), lambda: result.running)
    except TrainingStopped:
        _show(result)
        raise
    if ended:
        _show(result)
    if result.done:
        return
    say(_stopped(config))
    if not ended or leaving.asked:
        sys.exit(leaving.exit_code)


def _tell_leaving(times: int, *, running: bool) -> None:
    if times == 1 and running:
        say("stopping after this step, which will be saved; once more stops at once")


def _stopped(config: TrainConfig) -> str:
    """Where the run stands, and where the same command goes on."""
    saved = saved_steps(config)
    if saved is None:
        return "stopped; no step is saved yet, the same command begins anew"
    return f"stopped; {saved} of {config.num_rollout} steps are saved, the same command goes on after them"


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
