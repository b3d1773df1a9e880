"""Two compared runs as one HTML page that needs nothing else, in the style of the other reports. It has no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from assay.core.intervals import Interval

from ..charts import whisker
from ..page import allow, fill, part
from ..rows import Mark, Row, Rows, rows_table
from ..words import number
from .comparison import ComparedBenchmark, Comparison, Difference
from .comparison_text import ABOUT, alone, facts, is_told, reach_of, remarks
from .figures import points
from .page import fact_list


def comparison_page(found: Comparison) -> str:
    """The page as text."""
    css = part("page.css")
    title = f"{found.after} against {found.before}"
    return fill(
        part("page.bench.html"),
        {
            "title": escape(title),
            "policy": f"style-src {allow(css)}",
            "style": css,
            "facts": f'<li class="j0"><i></i><b>{escape(found.before)}</b> before</li>'
            f'<li class="j1"><i></i><b>{escape(found.after)}</b> after</li>',
            "body": "".join((_overview(found), *map(_benchmark, found.benchmarks))),
            "footer": escape(ABOUT),
        },
    )


def both_rows(named: Sequence[tuple[str, Difference]], links: Sequence[str] = ()) -> Rows:
    """The figures of both runs."""
    return Rows(
        title="Scores",
        rows=tuple(
            Row(
                name=name,
                marks=(
                    Mark(place=0, value=one.before, text=points(one.before)),
                    Mark(place=1, value=one.after, text=points(one.after)),
                ),
                note="" if one.n is None else f"n = {number(one.n)}",
                depth=one.depth,
                link=links[place] if place < len(links) else "",
            )
            for place, (name, one) in enumerate(named)
        ),
    )


def difference_rows(named: Sequence[tuple[str, Difference]]) -> Rows:
    """Their differences on a scale around 0."""
    far = max((abs(value) for _, one in named for value in (one.value, one.low or 0.0, one.high or 0.0)), default=0.0)
    edge = max(1.0, float(math.ceil(far / 5) * 5))
    return Rows(
        title="Difference in points",
        rows=tuple(
            Row(
                name=name,
                depth=one.depth,
                marks=(
                    Mark(
                        place=1,
                        value=one.value,
                        text=f"{one.value:+.1f}",
                        low=one.low,
                        high=one.high,
                        said=f"95 % {reach_of(one)}" if one.low is not None else "",
                    ),
                ),
            )
            for name, one in named
        ),
        low=-edge,
        high=edge,
        blind=0.0,
    )


def named(found: Comparison) -> list[tuple[str, Difference]]:
    """The scores of all benchmarks, and Overall."""
    scores = [(one.title, one.score) for one in found.benchmarks]
    return [*scores, ("Overall", found.overall)] if found.overall is not None else scores


def _overview(found: Comparison) -> str:
    every, links = named(found), [one.name for one in found.benchmarks]
    left = "".join(f'<p class="none">{escape(line)}</p>' for line in alone(found))
    return (
        f'<section><h2>Scores</h2><p class="lead">{escape(ABOUT)}</p><div class="columns">'
        f"{rows_table(both_rows(every, links))}{rows_table(difference_rows(every))}</div>{left}</section>"
    )


def _benchmark(one: ComparedBenchmark) -> str:
    parts = [(figure.name, figure) for figure in one.figures[1:]]
    tables = f'<div class="columns">{rows_table(both_rows(parts))}{rows_table(difference_rows(parts))}</div>'
    notes = "".join(f'<p class="note">{escape(line)}</p>' for line in remarks(one))
    return (
        f'<section id="{escape(one.name)}"><h2>{escape(one.title)}</h2><div class="cards"><article class="card j1">'
        f"{_big(one.score)}{notes}{fact_list(facts(one))}</article></div>{tables if parts else ''}</section>"
    )


def _big(score: Difference) -> str:
    drawn = ""
    if score.low is not None and score.high is not None:
        scale = difference_rows([("", score)])
        told = Interval(value=scale.at(score.value), low=scale.at(score.low), high=scale.at(score.high))
        drawn = (
            f"{whisker(told, 0.5, f'difference {score.value:+.1f}, 95 % {reach_of(score)}')}"
            f'<p class="scale"><span>{scale.low:+.0f}</span><span>95 % {reach_of(score)}</span>'
            f"<span>{scale.high:+.0f}</span></p>"
        )
    told = "points" if is_told(score) or score.low is None else "points, which cannot be told from no difference"
    return f'<p class="big"><b>{score.value:+.1f}</b> {told}</p>{drawn}'
