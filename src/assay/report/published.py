"""What the check of published tables found, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.bench.published import CheckedRanks, FlaggedRow, TableCheck


def flagged_rows(check: TableCheck) -> list[dict[str, Any]]:
    """The flagged rows as JSON objects."""
    return [{**asdict(row), "hints": list(row.hints), "difference": round(row.difference, 6)} for row in check.flagged]


def print_check(console: Console, check: TableCheck) -> None:
    """Counts by table, the flagged rows, and what else is noteworthy."""
    counts = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("table", "rows", "add up"):
        counts.add_column(name, justify="left" if name == "table" else "right")
    for table, rows in check.rows.items():
        wrong = sum(row.table == table for row in check.flagged)
        counts.add_row(Text(table), str(rows), f"{rows - wrong}/{rows}", style="red" if wrong else None)
    console.print(counts)
    if check.flagged:
        console.print()
        console.print(_flagged(check.flagged))
    for line in _remarks(check):
        console.print(Text(line), soft_wrap=True)


def _flagged(rows: tuple[FlaggedRow, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("flagged", "printed", "recomputed", "off by", "may be rounding", "hint"):
        table.add_column(name, justify="left" if name in ("flagged", "hint") else "right", overflow="fold")
    for row in rows:
        table.add_row(
            Text(f"{row.table}: {row.name}"),
            f"{row.printed:.2f}",
            f"{row.recomputed:.3f}",
            f"{row.difference:+.3f}",
            f"±{row.tolerance:g}",
            Text("; ".join(row.hints)),
        )
    return table


def _remarks(check: TableCheck) -> Iterator[str]:
    yield ""
    for ranks in check.ranks:
        yield _ranks(ranks)
    for table, *names in check.twins:
        yield f"equal in all subsets: {table}: {' = '.join(names)}"
    for row in check.unchecked:
        yield f"not checked (a cell is empty, or no number): {row}"
    if check.other:
        yield f"neither rows with a mean nor ranks: {', '.join(check.other)}"
    total = sum(check.rows.values())
    yield f"{len(check.flagged)} of {total} rows do not add up"


def _ranks(ranks: CheckedRanks) -> str:
    if not ranks.wrong:
        told = ", ".join(f"{name} {rank:g}" for name, rank in ranks.recomputed.items())
        return f"average ranks reproduced: {ranks.name}: {told}"
    told = ", ".join(f"{name} {ranks.printed[name]:g} (recomputed {ranks.recomputed[name]:g})" for name in ranks.wrong)
    return f"average ranks that do not follow from {ranks.table}: {told}"
