"""The tables of the terminal: one column per judge, side by side, and what they mean in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .figures import Figure, figures
from .summary import Group, JudgeSummary, Speed, Summary
from .words import chance_note, duration, headline, number, percent

FEW = 12
"""A metadata key with more groups than this is left to the page."""


def print_summary(console: Console, summary: Summary) -> None:
    """Print the tables of a run, and a sentence about every judge that is not better than chance."""
    console.print(summary_table(summary))
    if summary.speed is not None:
        console.print(Text(_pace(summary.speed), style="dim"))
    for key in dict.fromkeys(key for judge in summary.judges for key in judge.groups):
        table = group_table(summary, key)
        if table is not None:
            console.print()
            console.print(table)
    for judge in summary.judges:
        note = chance_note(judge)
        if note:
            console.print(Text(f"{judge.label}: {note}", style="yellow"))


def summary_table(summary: Summary) -> Table:
    """Rows are figures, columns are judges; a figure that no judge has is left out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for judge in summary.judges:
        table.add_column(Text(judge.label), justify="right", overflow="fold")
    columns = [figures(judge) for judge in summary.judges]
    for name in columns[0] if columns else ():
        if any(column[name].value for column in columns):
            table.add_row(Text(name, style="dim"), *(cell(column[name]) for column in columns))
        if name == "verdicts":
            for kind, cells in _failures(summary):
                table.add_row(Text(f"  {kind}", style="red"), *cells)
    return table


def group_table(summary: Summary, key: str) -> Table | None:
    """Agreement (or, without gold, the share of verdicts) by one metadata key; None when it has too many values."""
    groups = [{group.value: group for group in judge.groups.get(key, ())} for judge in summary.judges]
    values = sorted({value for judge in groups for value in judge})
    if not values or len(values) > FEW:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(key))
    table.add_column("judgments", justify="right")
    for judge in summary.judges:
        table.add_column(Text(f"{judge.name}: {_measure(judge)}"), justify="right")
    for value in values:
        table.add_row(Text(value), number(_most(groups, value)), *(_group_cell(judge.get(value)) for judge in groups))
    return table


def _failures(summary: Summary) -> Iterator[tuple[str, list[Text]]]:
    for kind in dict.fromkeys(kind for judge in summary.judges for kind in judge.failures):
        counts = [judge.failures.get(kind) for judge in summary.judges]
        yield kind, [Text("" if count is None else number(count)) for count in counts]


def _most(groups: list[dict[str, Group]], value: str) -> int:
    return max(judge[value].judgments for judge in groups if value in judge)


def _measure(judge: JudgeSummary) -> str:
    head = headline(judge)
    return head.name if head else "verdicts"


def _group_cell(group: Group | None) -> Text:
    if group is None:
        return Text("")
    head = headline(group)
    return cell(Figure(head.value, head.span)) if head else Text(percent(group.verdicts / group.judgments))


def cell(figure: Figure) -> Text:
    """A value, and dim beside it what else is said."""
    return Text.assemble(figure.value, ("  " + figure.aside if figure.aside else "", "dim"))


def _pace(speed: Speed) -> str:
    pace = f"{number(speed.judgments / speed.seconds)} judgments/s over {duration(speed.seconds)}"
    if not speed.prompt_tokens:
        return pace
    read, written = (number(count / speed.seconds) for count in (speed.prompt_tokens, speed.completion_tokens))
    return f"{pace}; tokens/s: {read} read, {written} written"
