"""What ``assay judge`` shows of a run's rows: tables, disagreements, exports, the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from assay.core.types import Item
from assay.data import EXPORTS, ResultRow, write_jsonl
from assay.data.decisions import judgments
from assay.report.agreement import disagreements
from assay.report.cost import Price, Rates
from assay.report.html import write_report
from assay.report.summary import summarise
from assay.report.tables import print_summary

from .declare import checked
from .judge import CostFlags, JudgeFlags

console = Console()

_LISTED = 20


def say(text: str) -> None:
    """A line, as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def rates_of(flags: CostFlags) -> Rates:
    """What ``--price`` and ``--active-parameters`` say."""
    price = None if flags.price is None else checked(Price, **flags.price)
    return Rates(price=price, parameters=flags.active_parameters)


def show_rows(
    flags: JudgeFlags,
    rows: Sequence[ResultRow],
    items: Sequence[Item],
    *,
    out: Path,
    about: str,
    seconds: float | None = None,
    judged: int | None = None,
    note: str = "",
) -> list[ResultRow]:
    """Show the rows of a run, and export and report them as the flags say; returns its judgments.

    Args:
        items: what was judged. about: judge and source, for the title of the report.
        seconds, judged: as ``summarise`` takes them. note: goes on the line that says where the rows are.
    """
    rates, made = rates_of(flags), judgments(rows)
    print_summary(console, summarise(rows, seconds=seconds, judged=judged, rates=rates))
    votes = f" of {len(rows)} votes" if len(rows) > len(made) else ""
    say(f"{len(made)} judgments{votes} in {out}{note}")
    _list_disagreements(made)
    if flags.export is not None:
        _export(flags, flags.export, out, items, rows)
    if flags.report is not None:
        write_report(flags.report, rows, title=about, items=items, seconds=seconds, rates=rates)
        say(f"report: {flags.report}")
    return made


def _list_disagreements(made: list[ResultRow]) -> None:
    found = disagreements(made)
    for row in found[:_LISTED]:
        where = row.item_id if row.candidate is None else f"{row.item_id}, candidate {row.candidate + 1}"
        say(f"disagrees: {where}: gold {row.own_gold}, scores {row.scores}")
    if len(found) > _LISTED:
        say(f"… and {len(found) - _LISTED} more disagreements: see --report")


def _export(flags: JudgeFlags, kind: str, out: Path, items: Sequence[Item], rows: Sequence[ResultRow]) -> None:
    target = flags.export_to or out.with_name(f"{out.stem}.{kind}.jsonl")
    made = EXPORTS[kind](rows, items)
    write_jsonl(target, made.rows)
    say(
        f"{len(made.rows)} {kind} rows in {target} (left out: {made.ties} tied, {made.failed} failed, "
        f"{made.single} with one candidate)"
    )
