"""Benchmark runs in the terminal: a row for each benchmark, a column for each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..rows import Row
from .figures import benchmark_names, score_rows
from .run import Run
from .told import caveats, grouped


def print_runs(console: Console, runs: Sequence[Run]) -> None:
    """Print the official scores, and what must be known before them."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for run in runs:
        table.add_column(Text(run.name), justify="right", overflow="fold")
    for row in score_rows(runs).rows:
        table.add_row(Text(row.name), *(_cell(row, place) for place in range(len(runs))))
    console.print(table)
    for line in grouped(_caveats(runs)):
        console.print(Text(line, style="yellow"), soft_wrap=True)


def _caveats(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Each with the benchmark, and with the run where it is not said of all runs that have the benchmark."""
    for name in benchmark_names(runs):
        there = {run.name: one for run in runs if (one := run.benchmark(name)) is not None}
        told = {run: caveats(one) for run, one in there.items()}
        for run, lines in told.items():
            title = there[run].score.title
            for line in lines:
                everywhere = all(line in others for others in told.values())
                yield title if everywhere else f"{run}, {title}", line


def _cell(row: Row, place: int) -> Text:
    mark = next((mark for mark in row.marks if mark.place == place), None)
    if mark is None:
        return Text("–", style="dim")
    aside = mark.said.removeprefix("95 % ")
    return Text.assemble(mark.text, (f"  {aside}" if aside else "", "dim"))
