"""The counts of a triage in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.bench.triage.counts import Triage

from .audit_text import over_of, span_of, value_of
from .words import number


def print_triage(console: Console, found: Triage) -> None:
    """One row a class: of the labelled cases, of the run, by stratum."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    several = len(found.strata) > 1
    table.add_column("class")
    for name in ("labelled", "95 %", "cases"):
        table.add_column(name, justify="right")
    if several:
        table.add_column("of the run", justify="right")
        table.add_column("95 %", justify="right")
        for name in found.strata:
            table.add_column(Text(name), justify="right", overflow="fold")
    for one in found.classes:
        cells = [value_of(one.drawn), span_of(one.drawn), over_of(one.drawn)]
        if several:
            cells += ["–", ""] if one.run is None else [value_of(one.run), span_of(one.run)]
            cells += [number(one.by_stratum[name]) for name in found.strata]
        table.add_row(Text(one.cause), *cells)
    console.print(table)
    for one in found.classes:
        console.print(Text(f"{one.cause}: {one.meaning}", style="dim"))
    if found.unlabelled:
        console.print(Text(f"{number(found.unlabelled)} cases have no class yet and are in no figure", style="yellow"))
