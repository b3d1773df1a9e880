"""What ``assay train`` does with its flags: check, run, show. Every decision is made by the layers below."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.core import log
from assay.core.errors import TrainingStopped
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, train

from .recipe import under_flags
from .train import TrainFlags

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
        asyncio.run(train(config, result))
    except KeyboardInterrupt:
        console.print(f"stopped after {result.steps} steps; the same command goes on from the last checkpoint")
        sys.exit(130)
    except TrainingStopped:
        _show(result)
        raise
    _show(result)


def _config(flags: TrainFlags) -> TrainConfig:
    own = {"recipe", "dump_config"}
    said = {name: value for name, value in flags if name in flags.model_fields_set and name not in own}
    return under_flags(TrainConfig, flags.recipe, said)


def _show(result: RunResult) -> None:
    table = Table(title=f"{result.run_dir}: steps {result.first_step} to {result.steps}", title_justify="left")
    table.add_column("what")
    table.add_column("before", justify="right")
    table.add_column("last", justify="right")
    names = [name for name in result.last if name.startswith(("reward/mean", "eval/"))]
    for name in names:
        table.add_row(name, _number(result.baseline.get(name)), _number(result.last.get(name)))
    console.print(table)


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.4f}"
