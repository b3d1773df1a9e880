"""The plan of ``assay spct``: the stages, how each stands, and their command lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from assay.report.words import duration
from assay.spct.pipeline.schedule import Due
from assay.spct.pipeline.stage import HERE

from .showing import console, say
from .spct_process import command_line


def show_plan(found: Sequence[Due]) -> None:
    """Print it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "stands", "took", "minutes", "needs"):
        table.add_column(name, justify="right" if name in ("took", "minutes") else "left", no_wrap=name != "needs")
    for one in found:
        stage, mark = one.placed.stage, one.mark
        took = "" if mark is None or not mark.seconds else duration(mark.seconds)
        minutes = "" if stage.minutes is None else f"{stage.minutes:g}"
        cells = (one.name, one.standing, took, minutes, ", ".join(stage.needs))
        table.add_row(*map(Text, cells))
    console.print(table)
    limited = sum(one.placed.stage.minutes or 0.0 for one in found)
    say(f"minutes of training: {limited:g}")
    for one in found:
        say(f"\n{one.name}: {one.placed.stage.about}; in {one.placed.folder}")
        for command in one.placed.stage.commands:
            engine = "" if command.asks == "no" else "  (and who answers)"
            say(f"  $ {command_line(command.rendered(lambda name, one=one: _folder(one, name)))}{engine}")


def _folder(one: Due, name: str) -> Path:
    return one.placed.folder if name == HERE else one.variant.folder(name)
