"""The help of a command: its flags under headings, each whole, however narrow the terminal is.

A flag and what is said of it stand side by side where there is room for both, else one below the other: a table would
cut the names of long flags off. Owns: the layout. Does not own: which flags there are, and their headings
(``declare``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperArgument, TyperCommand

Record: TypeAlias = "tuple[str, str]"
"""A flag with its values, and what is said of it."""

WIDEST = 0.45
"""Of the width of a panel: names that need more stand above what is said of them."""
_FRAME = 4
"""Columns of a panel that are not its text."""
ARGUMENTS, OPTIONS = "Arguments", "Options"


class HelpfulCommand(TyperCommand):
    """A command whose help is laid out here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # typer calls it with both
        """Print the help."""
        console = Console(highlight=False)
        console.print(Padding(Text(" ".join(self.get_usage(ctx).split()), style="bold"), 1))
        console.print(Padding(Text(_paragraphs(self.help or "")), (0, 1, 1, 1)))
        for title, records in _panels(self.get_params(ctx), ctx):
            console.print(Panel(_laid_out(records, console.width - _FRAME), title=title, title_align="left"))


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _panels(parameters: Sequence[Any], ctx: Any) -> Iterable[tuple[str, list[Record]]]:
    """Headings in the order of their first flag; arguments, and flags without a heading, before all."""
    found: dict[str, list[Record]] = {ARGUMENTS: [], OPTIONS: []}
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        title = parameter.rich_help_panel or (ARGUMENTS if isinstance(parameter, TyperArgument) else OPTIONS)
        if record is not None:
            found.setdefault(title, []).append(record)
    return ((title, records) for title, records in found.items() if records)


def _laid_out(records: Sequence[Record], width: int) -> RenderableType:
    """A table with as many columns as fit."""
    widest = max(len(name) for name, _ in records)
    beside = widest <= width * WIDEST
    table = Table.grid(padding=(0, 2), expand=True)
    if beside:
        table.add_column(min_width=widest)
        table.add_column(ratio=1)
    for name, about in records:
        shown, said = Text(name, style="bold cyan"), Text(about.replace("  [", " ["))
        if beside:
            table.add_row(shown, said)
        else:
            table.add_row(shown)
            table.add_row(Padding(said, (0, 0, 0, 4)))
    return table
