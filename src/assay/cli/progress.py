"""The progress line of a judging run: how far, verdicts and failures so far, calls saved, time left."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from assay.scoring.job import Progress
from assay.scoring.judgment import Judgment


@contextmanager
def judging_progress(label: str) -> Generator[Progress]:
    """Callbacks for ``run_job`` that keep a progress line up to date."""
    bar = Bar(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed · {task.fields[saved]} calls saved"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with bar:
        task = bar.add_task(f"{label}: starting", total=None, failed=0, saved=0)
        failed = saved = 0

        def on_start(total: int, done: int) -> None:
            bar.update(task, description=label, total=total, completed=done)

        def on_judgment(judgment: Judgment) -> None:
            nonlocal failed, saved
            failed += not judgment.ok
            saved += judgment.cached
            bar.update(task, advance=1, failed=failed, saved=saved)

        yield Progress(on_start=on_start, on_judgment=on_judgment)
