"""What ``assay sft`` and ``assay rm`` do with their flags: load, fit, show. The layers below make every decision."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from assay.core import log
from assay.core.errors import TrainingStopped
from assay.report.training import read_training
from assay.report.training_page import write_curves, write_training_page
from assay.report.training_table import print_training
from assay.report.words import number
from assay.tracking.lines import NAME
from assay.training.fit.config import FitConfig
from assay.training.heads.config import HeadConfig
from assay.training.sft.config import SftConfig

from .fit_progress import fitting_progress
from .leaving import Leaving
from .rm import RmFlags
from .sft import SftFlags

if TYPE_CHECKING:
    from assay.training.fit.loop import FitResult
    from assay.training.fit.run import Fitted

C = TypeVar("C", bound=FitConfig)

console = Console()


def sft_run(flags: SftFlags) -> None:
    """Run ``assay sft``; exit code 5 when the run was stopped for a reason, 130 after Ctrl-C, 143 after SIGTERM."""
    config = _config(flags, SftConfig)

    def make() -> Fitted:
        from assay.training.fit.run import Fitted
        from assay.training.sft.task import load_task

        task = load_task(config)
        tokens, learned = task.tokens
        _say(
            f"{number(task.size)} rows, {number(tokens)} tokens, {number(learned)} of them learned; "
            f"{number(task.held)} rows held out" + _left_out({"longer than max_length": task.too_long})
        )
        return Fitted(task=task)

    _fit(config, make, dump=flags.dump_config)


def rm_run(flags: RmFlags) -> None:
    """Run ``assay rm``; exit codes as ``sft_run``."""
    config = _config(flags, HeadConfig)

    def make() -> Fitted:
        from assay.training.fit.run import Fitted
        from assay.training.heads.task import load_task

        task, policy = load_task(config)
        _say(f"{task.told}{_left_out(task.left_out)}")
        return Fitted(task=task, policy=policy)

    _fit(config, make, dump=flags.dump_config)


def _fit(config: FitConfig, make: Callable[[], Fitted], *, dump: bool) -> None:
    log.setup("warning")
    if dump:
        print(config.model_dump_json(indent=1))
        return
    from assay.training.fit.loop import FitResult
    from assay.training.fit.run import run_fit

    result = FitResult()
    leaving = Leaving(lambda times: _tell_leaving(times, running=result.running))
    try:
        with leaving.watching(lambda: result.running), fitting_progress(console, result) as tell:
            first = run_fit(config, make, result, tell, leaving)
    except KeyboardInterrupt:
        _say(_stopped(result))
        sys.exit(leaving.exit_code)
    except TrainingStopped:
        _show(config, result)
        raise
    if first:
        _show(config, result, left=leaving())
    if leaving() and not result.done:
        if first:
            _say(_stopped(result))
        sys.exit(leaving.exit_code)


def _tell_leaving(times: int, *, running: bool) -> None:
    if times == 1 and running:
        _say("stopping after this update, which will be saved; once more stops at once")


def _stopped(result: FitResult) -> str:
    """Where the run stands, and where the same command goes on."""
    if result.saved is None:
        return "stopped; no update is saved yet, the same command begins anew"
    of = "" if result.total is None else f" of {number(result.total)}"
    return f"stopped; {number(result.saved)}{of} updates are saved, the same command goes on after them"


def _show(config: FitConfig, result: FitResult, *, left: bool = False) -> None:
    """The table of the run, its page and curves, and where everything is; nothing where no update was made."""
    if not (config.run_dir / NAME).exists():
        return
    run = read_training(config.run_dir)
    write_training_page(run)
    write_curves(run)
    print_training(console, run)
    if not result.done and not left:
        of = "" if result.total is None else f" of {number(result.total)}"
        console.print(f"{number(result.updates)}{of} updates are made; the same command goes on")


def _config(flags: FitConfig, kind: type[C]) -> C:
    said = {name: getattr(flags, name) for name in flags.model_fields_set if name in kind.model_fields}
    return kind(**said)


def _left_out(counts: dict[str, int]) -> str:
    told = ", ".join(f"{number(count)} {why}" for why, count in counts.items() if count)
    return f"; left out: {told}" if told else ""


def _say(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
