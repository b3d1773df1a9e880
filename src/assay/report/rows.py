"""Named rows with a mark for each run on one scale: as a table with drawings for a page. ``row_picture`` makes a PNG.

Owns: the scale (plain or logarithmic) and where a mark lies on it. Does not own: which figures are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from assay.core.intervals import Interval

from .charts import whisker

STYLES = 6
"""So many runs have a colour of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A figure of one run. ``place``: which run, for its colour; ``text``: the figure as it is written."""

    place: int
    value: float | None
    text: str
    low: float | None = None
    high: float | None = None
    said: str = ""
    """What it says when pointed at, beside the figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. ``depth``: how deep it is indented; ``note``: small, beside its name."""

    name: str
    marks: tuple[Mark, ...]
    note: str = ""
    depth: int = 0
    link: str = ""
    """Id of the place on the page that it leads to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows on one scale from ``low`` to ``high``. ``blind``: where a tick stands, None for none."""

    title: str
    rows: tuple[Row, ...]
    low: float = 0.0
    high: float = 100.0
    log: bool = False
    blind: float | None = None

    def at(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = math.log(low), math.log(high), math.log(max(value, low))
        return min(1.0, max(0.0, (here - low) / (high - low))) if high > low else 0.5


def log_range(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten around values of at least 1."""
    low = 10.0 ** math.floor(math.log10(max(1.0, min(values))))
    high = 10.0 ** math.ceil(math.log10(max(1.0, *values)))
    return low, high if high > low else 10 * low


def rows_table(shown: Rows) -> str:
    """The rows as a table; a mark without interval is a dot alone."""
    body = "".join(_row(shown, row) for row in shown.rows)
    deep = " deep" if any(row.depth for row in shown.rows) else ""
    scale = f"{shown.low:,.0f} to {shown.high:,.0f}{', logarithmic' if shown.log else ''}"
    return (
        f'<table class="groups rows{deep}"><caption>{escape(shown.title)} <small>{scale}</small></caption>'
        f"<tbody>{body}</tbody></table>"
    )


def style(place: int) -> str:
    """The class of a run's colour."""
    return f"j{place % STYLES}"


def _row(shown: Rows, row: Row) -> str:
    note = f" <small>{escape(row.note)}</small>" if row.note else ""
    marks = "".join(_mark(shown, row, mark) for mark in row.marks)
    name = f'<a href="#{escape(row.link)}">{escape(row.name)}</a>' if row.link else escape(row.name)
    return f'<tr class="d{min(row.depth, 3)}"><th scope="row">{name}{note}</th><td>{marks}</td></tr>'


def _mark(shown: Rows, row: Row, mark: Mark) -> str:
    if mark.value is None:
        return f'<div class="line {style(mark.place)}"><span class="none">{escape(mark.text)}</span></div>'
    value = shown.at(mark.value)
    low = value if mark.low is None else shown.at(mark.low)
    high = value if mark.high is None else shown.at(mark.high)
    said = f"{row.name}: {mark.text}{f', {mark.said}' if mark.said else ''}"
    blind = None if shown.blind is None else shown.at(shown.blind)
    drawn = whisker(Interval(value=value, low=low, high=high), blind, said)
    return f'<div class="line {style(mark.place)}">{drawn}<b>{escape(mark.text)}</b></div>'
