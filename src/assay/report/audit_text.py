"""A judge card in the terminal and as Markdown: the same figures in the same words as on its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from assay.bench.audit.card import Card
from assay.bench.audit.figure import Figure, Section

from .words import number, percent


def value_of(figure: Figure) -> str:
    """The figure in its own unit: a share in percent, a difference in points, a coefficient as it is."""
    if figure.value is None:
        return "–"
    if figure.scale == "share":
        return percent(figure.value)
    return f"{figure.value * 100:+.1f} points" if figure.scale == "difference" else f"{figure.value:.3f}"


def span_of(figure: Figure) -> str:
    """Its 95 % interval; empty where there is none."""
    if figure.low is None or figure.high is None:
        return ""
    if figure.scale == "coefficient":
        return f"{figure.low:.2f} to {figure.high:.2f}"
    sign = "+" if figure.scale == "difference" else ""
    return f"{figure.low * 100:{sign}.1f} to {figure.high * 100:{sign}.1f}"


def over_of(figure: Figure) -> str:
    """What it is over: hits of n, and what failed beside them."""
    seen = f"{number(figure.hits)} of {number(figure.n)}" if figure.hits is not None else f"n = {number(figure.n)}"
    return f"{seen}, {number(figure.failed)} failed" if figure.failed else seen


def facts(card: Card) -> list[tuple[str, str]]:
    """What was audited, as value and name."""
    failed = sum(card.failures.values())
    told = [(card.judge, "judge"), (card.model or "not named", "model"), (card.source, "asked about")]
    told += [(number(card.items), "items"), (number(card.judgments), "judgments"), (number(failed), "failed")]
    temperature = card.sampling.get("temperature")
    if temperature is not None:
        told.append((f"{temperature:g}", "temperature"))
    return [*told, (str(card.seed), "seed")]


def print_card(console: Console, card: Card) -> None:
    """Print the card: a table a section, then what a reader must know."""
    for section in card.sections:
        console.print()
        console.print(Text(section.title, style="bold"))
        if section.absent is not None:
            console.print(Text(f"  {section.absent}", style="dim"), soft_wrap=True)
        else:
            console.print(_table(section))
    if card.failures:
        counted = ", ".join(f"{kind} {n}" for kind, n in card.failures.items())
        console.print(Text(f"\nfailed judgments, in no figure above: {counted}", style="red"), soft_wrap=True)
    for finding in card.findings:
        console.print(Text(f"finding: {finding}", style="yellow"), soft_wrap=True)


def markdown(card: Card) -> str:
    """The card as one Markdown page."""
    lines = [f"# Judge card: {_cell(card.judge)} · {_cell(card.model)}", ""]
    lines.append(" · ".join(f"**{_cell(value)}** {name}" for value, name in facts(card)[2:]))
    lines += ["", f"`{_cell(card.identity)}`, weights {_cell(card.weight_version) or 'not named'}", ""]
    lines += [f"> {_cell(finding)}" for finding in card.findings] or ["Nothing stood out."]
    for section in card.sections:
        lines += ["", f"## {section.title}", "", section.about, ""]
        lines += [f"Not measured: {_cell(section.absent)}."] if section.absent is not None else _figures(section)
        lines += [f"\n{note}" for note in section.notes]
        for table in section.tables:
            lines += ["", f"**{table.title}**", "", *_rows(table.columns, table.rows)]
    if card.failures:
        lines += ["", "## Failed judgments", "", "They are in no figure above.", ""]
        lines += _rows(("kind", "judgments"), [(kind, str(n)) for kind, n in card.failures.items()])
    if card.skipped:
        lines += ["", f"Skipped: {', '.join(map(_cell, card.skipped))}."]
    return "\n".join(lines) + "\n"


def _table(section: Section) -> RichTable:
    table = RichTable(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", overflow="fold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_column(style="dim", overflow="fold")
    for figure in section.figures:
        table.add_row(Text(f"  {figure.name}"), value_of(figure), span_of(figure), over_of(figure))
    return table


def _figures(section: Section) -> list[str]:
    rows = [(f.name, value_of(f), span_of(f), over_of(f), _blind(f)) for f in section.figures]
    return list(_rows(("", "value", "95 %", "over", "blind"), rows))


def _blind(figure: Figure) -> str:
    if figure.blind is None or figure.scale == "difference":
        return ""
    return percent(figure.blind) if figure.scale == "share" else f"{figure.blind:.2f}"


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:

    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    """A text that cannot leave its cell, start a heading or become a tag."""
    flat = " ".join(text.split())
    return flat.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "ʼ").replace("*", "\\*")
