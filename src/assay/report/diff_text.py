"""``RunDiff`` on the terminal: counts, agreement before and after, and the first examples with their texts."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.data import ResultRow

from .diff import Change, Kind, RunDiff
from .figures import figures
from .sample import readable
from .words import number, percent

COMPARED = (
    "verdicts",
    "agreement with gold",
    "balanced accuracy",
    "AUC",
    "best on top",
    "right as ties were settled",
    "votes per judgment",
    "tokens per verdict",
)
"""Figures that stand side by side."""
_LONGEST = 600


def print_diff(console: Console, found: RunDiff, *, examples: int) -> None:
    """Print all of it, with at most ``examples`` changes in full."""
    console.print(_counts(found))
    for told in (*_asides(found), _gold(found)):
        if told:
            console.print(Text(told, style="dim"), soft_wrap=True)
    console.print()
    console.print(compared(found))
    for change in found.changes[:examples]:
        console.print()
        _example(console, change)
    left = len(found.changes) - examples
    if examples and left > 0:
        console.print(Text(f"… and {number(left)} more changes: --examples shows more of them", style="dim"))


def compared(found: RunDiff) -> Table:
    """The figures of both runs, side by side; those that neither has are left out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    before, after = figures(found.before), figures(found.after)
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    table.add_row(Text("judge", style="dim"), Text(found.before.identity), Text(found.after.identity))
    for name in COMPARED:
        if before[name].value or after[name].value:
            cells = (
                Text.assemble(f.value, ("  " + f.aside if f.aside else "", "dim")) for f in (before[name], after[name])
            )
            table.add_row(Text(name, style="dim"), *cells)
    return table


def _counts(found: RunDiff) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("", justify="right")
    table.add_row(Text("judgments in both", style="dim"), number(found.pairs), "")
    for kind, count in found.counts.items():
        style = "red" if kind is Kind.LOST else ""
        table.add_row(Text(kind, style=style), number(count), Text(percent(count / found.pairs), style="dim"))
    return table


def _asides(found: RunDiff) -> list[str]:
    told: list[str] = []
    if found.only_before or found.only_after:
        told.append(f"only before: {number(found.only_before)}; only after: {number(found.only_after)} judgments")
    if found.other_content:
        told.append(f"{number(found.other_content)} were asked about other content (text, reference or answer differ)")
    return told


def _gold(found: RunDiff) -> str:
    if not found.mended + found.broken:
        return ""
    return f"against gold: {number(found.mended)} wrong became right, {number(found.broken)} right became wrong"


def _example(console: Console, change: Change) -> None:
    before, after = change.before, change.after
    where = before.item_id if before.candidate is None else f"{before.item_id}, candidate {before.candidate + 1}"
    gold = "" if before.own_gold is None else f"  gold {_numbers(before.own_gold)}"
    console.print(Text.assemble((f"{change.kind}: ", "bold"), where, (gold, "dim")), soft_wrap=True)
    for name, row, right in zip(("before", "after"), (before, after), change.right, strict=True):
        mark = "" if right is None else "  right" if right else "  wrong"
        console.print(Text.assemble((f"  {name}: ", "dim"), said(row), (mark, "dim")), soft_wrap=True)
    texts = [readable(row.text.strip(), _LONGEST) for row in (before, after)]
    for text in dict.fromkeys(texts):
        console.print(Padding(Text(text or "(no text)", style="dim"), (0, 0, 0, 4)))


def said(row: ResultRow) -> str:
    """What a judgment came to, in one line."""
    if not row.ok:
        return f"{row.outcome}: {row.detail}"
    scores = "" if row.scores is None else f"scores {_numbers(row.scores)}"
    choice = "" if row.choice is None else f"choice {row.choice + 1}"
    flags = f"({', '.join(row.flags)})" if row.flags else ""
    return "  ".join(part for part in (scores, choice, flags) if part)


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(number(value) for value in values)
