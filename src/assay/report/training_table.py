"""The closing table of a training run: what the reward was and is, what was evaluated, what failed, where time went."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.rl.record import FOLDER
from assay.tracking.lines import NAME

from .training import (
    FITTED,
    SHARES,
    Change,
    TrainingRun,
    answers,
    eval_changes,
    failures,
    fit_changes,
    is_fit,
    reward_change,
    seconds_by_phase,
)
from .training_monitor import alarm_lines
from .training_settings import said
from .words import FAILURES, duration, number, percent


def print_training(console: Console, run: TrainingRun) -> None:
    """Print the table, alarms of the last look, what is damaged, and where everything is."""
    if not run.steps:
        console.print(Text("no step is made yet; the run was told:", style="bold"))
        for name, value in said(run.config):
            console.print(Text.assemble((f"  {name} ", "dim"), value), soft_wrap=True)
    console.print(training_table(run))
    for damaged in run.damaged:
        console.print(Text(f"damaged: {damaged}", style="yellow"), soft_wrap=True)
    for line in alarm_lines(run):
        console.print(Text(line, style="yellow"))
    for name, path in places(run):
        console.print(Text.assemble((f"{name:<9}", "bold"), str(path)), soft_wrap=True)


def training_table(run: TrainingRun) -> Table:
    """The figures of the run; those that it does not have are left out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    table.add_column("")
    reward = reward_change(run)
    if reward is not None:
        table.add_row(Text("reward", style="dim"), f"{reward.first:.3f}", f"{reward.last:.3f}", _moved(reward))
    for change in eval_changes(run):
        name = Text(f"{change.name}, pass@1", style="dim")
        table.add_row(name, percent(change.first), percent(change.last), _moved(change))
    for change in fit_changes(run):
        first, last = (percent(v) if change.name in SHARES else f"{v:.4f}" for v in (change.first, change.last))
        better = change.last < change.first if change.name.endswith("loss") else change.last > change.first
        moved = Text(f"{change.last - change.first:+.4f}", style="green" if better else "dim")
        table.add_row(Text(FITTED[change.name], style="dim"), first, last, moved)
    table.add_row(Text("steps", style="dim"), "", number(run.steps), "")
    if not is_fit(run):
        table.add_row(Text("answers", style="dim"), "", number(answers(run)), "")
    total = answers(run)
    for name, count in failures(run).items():
        told = FAILURES.get(name.removeprefix("judge: "), "the policy gave no answer")
        share = f"{percent(count / total)}: {told}" if total else told
        table.add_row(Text(f"  failed, {name}", style="red"), "", number(round(count)), Text(share, style="dim"))
    spent = seconds_by_phase(run)
    for name, seconds in spent.items():
        share = Text(percent(seconds / sum(spent.values())), style="dim")
        table.add_row(Text(f"time, {name}", style="dim"), "", duration(seconds), share)
    return table


def places(run: TrainingRun) -> Iterator[tuple[str, Path]]:
    """What there is to look at, and where."""
    known = {
        "metrics": run.folder / NAME,
        "samples": run.folder / FOLDER,
        "answers": run.folder / "eval",
        "model": run.folder / "model",
        "adapter": run.folder / "adapter",
        "settings": run.folder / "config.json",
        "page": run.folder / "report.html",
        "curves": run.folder / "curves.png",
    }
    yield from ((name, path) for name, path in known.items() if path.exists())


def _moved(change: Change) -> Text:
    step = change.last - change.first
    return Text(f"{step:+.3f}", style="green" if step > 0 else "red" if step < 0 else "dim")
