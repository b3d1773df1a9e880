"""A judge card as one HTML page that needs nothing else, in the style of the other reports. It has no script.

Everything that comes from data is hostile until escaped: names of models and answers are.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from assay.bench.audit.card import Card
from assay.bench.audit.figure import Figure, Section, Table
from assay.core.intervals import Interval

from .audit_text import facts, over_of, span_of, value_of
from .charts import whisker
from .page import allow, fill, part, write_page
from .words import FAILURES, number

GLANCE = (
    ("agreement", "Agreement"),
    ("order", "Changes with the order"),
    ("length", "Lost to filler"),
    ("style", "Lost to markup"),
    ("self_preference", "Self-preference"),
    ("attacks", "Attacks accepted"),
    ("repeats", "Repeats itself"),
    ("calibration", "Calibration"),
)
"""The first figure of each of these sections stands on top of the page."""


def write_audit_page(path: Path, card: Card) -> None:
    """Write the page. Raises OutputError."""
    write_page(path, audit_page(card))


def audit_page(card: Card) -> str:
    """The page as text."""
    style = part("page.css")
    by_name = {section.name: section for section in card.sections}
    glance = [(title, by_name[name]) for name, title in GLANCE if name in by_name]
    return fill(
        part("page.audit.html"),
        {
            "title": escape(card.judge if card.model in ("", card.judge) else f"{card.judge} · {card.model}"),
            "policy": f"style-src {allow(style)}",
            "style": style,
            "facts": "".join(f"<li><b>{escape(value)}</b> {escape(name)}</li>" for value, name in facts(card)[2:]),
            "findings": "".join(f'<p class="note">{escape(finding)}</p>' for finding in card.findings),
            "cards": "".join(_card(title, section) for title, section in glance),
            "sections": "".join(map(_section, card.sections)),
            "failures": _failures(card),
            "identity": escape(f"{card.identity}, weights {card.weight_version or 'not named'}"),
        },
    )


def _card(title: str, section: Section) -> str:
    figure = section.figures[0] if section.absent is None and section.figures else None
    if figure is None or figure.value is None:
        why = section.absent or "nothing to measure it on"
        body = f'<p class="big"><b>–</b></p><p class="scale"><span>{escape(why)}</span></p>'
    else:
        body = (
            f'<p class="big"><b>{escape(value_of(figure))}</b></p>{_whisker(figure)}'
            f'<p class="scale"><span>{escape(figure.name)}</span><span>{escape(over_of(figure))}</span></p>'
        )
    return f'<article class="card"><h3>{escape(title)}</h3>{body}</article>'


def _section(section: Section) -> str:
    head = f'<h2>{escape(section.title)}</h2><p class="lead">{escape(section.about)}</p>'
    if section.absent is not None:
        body = f'<p class="none">Not measured: {escape(section.absent)}.</p>'
    else:
        rows = "".join(map(_row, section.figures))
        body = f'<table class="groups">{rows}</table>{"".join(map(_detail, section.tables))}'
    notes = "".join(f'<p class="none">{escape(note)}</p>' for note in section.notes)
    warned = "".join(f'<p class="note">{escape(finding)}</p>' for finding in section.findings)
    return f'<section id="{escape(section.name)}">{head}{body}{notes}{warned}</section>'


def _row(figure: Figure) -> str:
    over = f"<small>{escape(over_of(figure))}</small>"
    if figure.value is None:
        return f'<tr><th scope="row">{escape(figure.name)}<br>{over}</th><td class="none">nothing to measure</td></tr>'
    value = f"<b>{escape(value_of(figure))}</b>"
    return (
        f'<tr><th scope="row">{escape(figure.name)}<br>{over}</th>'
        f'<td><div class="line">{_whisker(figure)}{value}</div></td></tr>'
    )


def _whisker(figure: Figure) -> str:
    """On a line from 0 to 1, or from -1 to 1 for what can be below 0."""
    found = figure.interval
    if found is None:
        return '<span class="none">no interval</span>'
    signed = figure.scale == "difference" or figure.blind == 0.0

    def at(value: float) -> float:
        return max(0.0, min(1.0, (value + 1) / 2 if signed else value))

    interval = Interval(value=at(found.value), low=at(found.low), high=at(found.high))
    said = f"{figure.name}: {value_of(figure)}, 95 % {span_of(figure)}"
    return whisker(interval, None if figure.blind is None else at(figure.blind), said)


def _detail(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return (
        f'<details class="failure"><summary><b>{escape(table.title)}</b> '
        f'<span class="count">{number(len(table.rows))}</span></summary>'
        f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>'
    )


def _failures(card: Card) -> str:
    if not card.failures:
        return '<section><h2>Failures</h2><p class="lead">None: every judgment is a verdict.</p></section>'
    rows = "".join(
        f'<tr><th scope="row">{escape(kind)}</th><td>{number(n)}: {escape(FAILURES.get(kind, ""))}</td></tr>'
        for kind, n in card.failures.items()
    )
    lead = "A failure is not a score: none of these is in any figure on this page."
    return f'<section><h2>Failures</h2><p class="lead">{lead}</p><table class="groups">{rows}</table></section>'
