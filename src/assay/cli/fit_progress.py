"""A fit as it goes: a bar on a terminal, and now and then a line where the output goes to a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assay.report.training_words import step_line

if TYPE_CHECKING:
    from assay.training.fit.loop import FitResult

Tell: TypeAlias = Callable[[int, Mapping[str, float]], None]

EVERY_S = 10.0
"""Seconds between two lines; measured updates and the last one always have theirs."""


@contextmanager
def fitting_progress(console: Console, result: FitResult) -> Generator[Tell]:
    """What a fit tells its updates to. ``result`` knows how many there will be, once it has begun."""
    if not console.is_terminal:
        yield _plain(console, result)
        return
    bar = Progress(
        TextColumn("[bold]updates"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    with bar:
        task = bar.add_task("starting", total=None)

        def tell(step: int, metrics: Mapping[str, float]) -> None:
            line = step_line(step, result.total, metrics)
            if _measured(metrics):
                bar.console.print(line, soft_wrap=True, highlight=False, markup=False)
            bar.update(task, total=result.total, completed=step + 1, description=line.partition(" · ")[2])

        yield tell


def _plain(console: Console, result: FitResult) -> Tell:
    said = float("-inf")

    def tell(step: int, metrics: Mapping[str, float]) -> None:
        nonlocal said
        now = time.monotonic()
        if _measured(metrics) or now - said >= EVERY_S or step + 1 == result.total:
            said = now
            console.print(step_line(step, result.total, metrics), soft_wrap=True, highlight=False, markup=False)

    return tell


def _measured(metrics: Mapping[str, float]) -> bool:
    return any(name.startswith("eval/") for name in metrics)
