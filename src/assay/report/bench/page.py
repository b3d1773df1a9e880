"""Benchmark runs as one HTML page that needs nothing else, in the style of the other reports. It has no script.

Everything that comes from data is hostile until escaped: names of models and subsets are. No text of a question, an
answer or a judge is on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from assay.core.intervals import Interval

from ..charts import Part, stacked_bar, whisker
from ..page import allow, fill, part
from ..plot import figure
from ..rows import rows_table, style
from ..words import FAILURES, number
from .figures import benchmark_names, part_rows, points, reach, score_rows, token_rows
from .plots import Size, overall_scaling, overall_sizes, plots_of
from .run import BenchmarkRun, Run
from .score import Table
from .told import (
    Fact,
    caveats,
    is_official,
    length_facts,
    lost_votes,
    otherwise,
    place_facts,
    remarks,
    run_facts,
    score_facts,
)

FOOTER = (
    "Scores are in percent, as each benchmark's own formula has them; intervals are the middle 95 % of bootstrap "
    "resamples of its cases. A failed judgment is no score: what it counts as is said beside each score. "
    "A star marks the rule that the score is under."
)


def bench_page(runs: Sequence[Run], known: Mapping[str, Size]) -> str:
    """The page as text.

    Args:
        known: the size of each run's model, by the run's name.
    """
    css = part("page.css")
    sections = [_overview(runs, known), *(_benchmark(runs, name, known) for name in benchmark_names(runs))]
    return fill(
        part("page.bench.html"),
        {
            "title": escape(title(runs)),
            "policy": f"style-src {allow(css)}",
            "style": css,
            "facts": _facts(runs),
            "body": "".join(sections),
            "footer": FOOTER,
        },
    )


def title(runs: Sequence[Run]) -> str:
    """What the report is called."""
    return f"Benchmarks of {runs[0].judge}" if len(runs) == 1 else f"Benchmarks of {len(runs)} runs"


def _facts(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return "".join(f"<li><b>{escape(fact.value)}</b> {escape(fact.name)}</li>" for fact in run_facts(runs[0]))
    return "".join(
        f'<li class="{style(place)}"><i></i><b>{escape(run.name)}</b> {escape(run.judge)}</li>'
        for place, run in enumerate(runs)
    )


def _overview(runs: Sequence[Run], known: Mapping[str, Size]) -> str:
    missing = "".join(
        f'<p class="none">{escape(f"{run.name}: " if len(runs) > 1 else "")}no Overall: the mean of RewardBench, '
        f"PPE Preference, PPE Correctness and RMB; not run: {escape(', '.join(run.overall.missing))}.</p>"
        for run in runs
        if run.overall.value is None
    )
    plots = [plot for plot in (overall_scaling(runs), *overall_sizes(runs, known)) if plot is not None]
    drawn = f'<div class="columns">{"".join(map(figure, plots))}</div>' if plots else ""
    return (
        f'<section><h2>Scores</h2><p class="lead">Each benchmark as its own formula has it, in percent, with its 95 % '
        f"interval.</p>{rows_table(score_rows(runs))}{missing}{drawn}</section>"
    )


def _benchmark(runs: Sequence[Run], name: str, known: Mapping[str, Size]) -> str:
    there = [(place, run, one) for place, run in enumerate(runs) if (one := run.benchmark(name)) is not None]
    score = there[0][2].score
    cards = "".join(_card(place, run.name if len(runs) > 1 else "", one) for place, run, one in there)
    plots = plots_of(runs, known, name)
    drawn = f'<div class="columns">{"".join(map(figure, plots))}</div>' if plots else ""
    tokens = token_rows(runs, name)
    tables = rows_table(part_rows(runs, name)) + (rows_table(tokens) if tokens else "")
    return (
        f'<section id="{escape(name)}"><h2>{escape(score.title)}</h2>'
        f'<div class="cards">{cards}</div>{drawn}<div class="columns">{tables}</div>'
        f"{''.join(_measures(place, run.name if len(runs) > 1 else '', one) for place, run, one in there)}"
        f"{''.join(_biases(place, run.name if len(runs) > 1 else '', one) for place, run, one in there)}</section>"
    )


def _card(place: int, name: str, one: BenchmarkRun) -> str:
    head = f"<h3><i></i>{escape(name)}</h3>" if name else ""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in caveats(one))
    notes += "".join(f'<p class="none">{escape(remark)}</p>' for remark in remarks(one))
    return (
        f'<article class="card {style(place)}">{head}{_big(one)}{notes}{_failures(one)}'
        f"{fact_list(score_facts(one))}{_otherwise(one)}{_series(one)}</article>"
    )


def _big(one: BenchmarkRun) -> str:
    score = one.score
    value, interval = score.score, score.interval
    if value is None:
        return '<p class="big"><b>–</b> nothing to count</p>'
    low, high = (value, value) if interval is None else (interval.low, interval.high)
    told = Interval(value=_share(value), low=_share(low), high=_share(high))
    said = f"{score.title}: {points(value)}" + (f", 95 % {reach(interval)}" if interval else "")
    name = "official score" if is_official(one) else "by the official formula"
    between = f"95 % {reach(interval)} · " if interval else ""
    return (
        f'<p class="big"><b>{points(value)}</b> {name}</p>{whisker(told, None, said)}'
        f'<p class="scale"><span>0</span><span>{between}n = {number(score.cases)} · ties {score.counting.ties}, '
        f"failures {score.counting.failures}</span><span>100</span></p>"
    )


def _share(value: float) -> float:
    return min(1.0, max(0.0, value / 100))


def _failures(one: BenchmarkRun) -> str:
    """Units without an answer, by kind; where there are votes, those without a verdict below."""
    failed = one.score.failures
    parts = [Part(name="answered", count=one.score.units - sum(failed.values()), style="ok"), *_bad(failed)]
    shown = f'{stacked_bar(parts)}<ul class="keys">{"".join(map(_key, parts))}</ul>'
    lost = lost_votes(one)
    if lost and sum(map(len, one.votes)) > one.score.units:
        votes = sum(map(len, one.votes))
        parts = [Part(name="votes with a verdict", count=votes - sum(lost.values()), style="ok"), *_bad(lost)]
        shown += f'{stacked_bar(parts)}<ul class="keys">{"".join(map(_key, parts))}</ul>'
    return shown


def _bad(counts: Mapping[str, int]) -> list[Part]:
    return [Part(name=kind, count=n, style=f"bad{place % 5}") for place, (kind, n) in enumerate(counts.items())]


def _key(one: Part) -> str:
    why = FAILURES.get(one.name, "")
    told = f' title="{escape(why)}"' if why else ""
    return (
        f'<li{told}><svg class="key" aria-hidden="true"><rect class="{one.style}" width="100%" height="100%"/></svg>'
        f"{escape(one.name)} <b>{number(one.count)}</b></li>"
    )


def fact_list(facts: Sequence[Fact]) -> str:
    """Figures with their names below each other and beside."""
    rows = "".join(
        f"<div><dt>{escape(fact.name)}</dt><dd>{escape(fact.value)} <small>{escape(fact.aside)}</small></dd></div>"
        for fact in facts
    )
    return f"<dl>{rows}</dl>" if rows else ""


def _otherwise(one: BenchmarkRun) -> str:
    facts = [
        Fact(name=f"{name} {rule}", value=value)
        for name, told in otherwise(one).items()
        for rule, value in told.items()
    ]
    return f'<div class="otherwise"><h4>Counted otherwise</h4>{fact_list(facts)}</div>' if facts else ""


def _series(one: BenchmarkRun) -> str:
    """Every series in a table that is closed at first."""
    if len(one.score.series) < 2:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("series", "score", "95 %", "failed", "tied"))
    rows = "".join(
        f"<tr><td>{escape(s.name)}</td><td>{points(s.score)}</td><td>{reach(s.interval)}</td>"
        f"<td>{number(s.failed)}</td><td>{number(s.tied)}</td></tr>"
        for s in one.score.series
    )
    return (
        f'<details class="failure"><summary>All series <span class="count">{number(len(one.score.series))}</span>'
        f'</summary><table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>'
    )


def _measures(place: int, name: str, one: BenchmarkRun) -> str:
    """The score's other measures: tables that are wider than a telephone, so they scroll by themselves."""
    if not one.score.tables:
        return ""
    head = f'<h3 class="{style(place)}"><i></i>{escape(name)}</h3>' if name else ""
    return head + "".join(map(_measure, one.score.tables))


def _measure(shown: Table) -> str:
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("", "n", *shown.columns))
    body = "".join(
        f'<tr><th scope="row">{escape(row.name)}</th><td>{number(row.n)}</td>'
        + "".join(
            f"<td>{points(value)} <small>{reach(span)}</small></td>"
            for value, span in zip(row.values, row.intervals, strict=True)
        )
        + "</tr>"
        for row in shown.rows
    )
    return (
        f'<h4>{escape(shown.name)}</h4><p class="lead">{escape(shown.about)}</p><div class="wide">'
        f'<table class="plain"><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _biases(place: int, name: str, one: BenchmarkRun) -> str:
    length, where = length_facts(one), place_facts(one)
    if not length and not where:
        return ""
    head = f'<h3 class="{style(place)}"><i></i>{escape(name)}</h3>' if name else ""
    shown = "".join(
        f'<table class="groups facts-table"><caption>{title}</caption><tbody>'
        + "".join(
            f'<tr><th scope="row">{escape(fact.name)}</th><td><b>{escape(fact.value)}</b> '
            f"<small>{escape(fact.aside)}</small></td></tr>"
            for fact in facts
        )
        + "</tbody></table>"
        for title, facts in (("Length bias", length), ("Position bias", where))
        if facts
    )
    return f'{head}<div class="columns">{shown}</div>'
