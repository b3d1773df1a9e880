"""Benchmark runs as Markdown: the same figures in the same words as on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..plot import Plot
from ..rows import Mark, Rows
from ..words import number
from .figures import benchmark_names, part_rows, points, reach, score_rows, token_rows, with_reach
from .page import FOOTER, title
from .plots import Size, overall_scaling, overall_sizes, plots_of
from .run import BenchmarkRun, Run
from .told import Fact, caveats, length_facts, lost_votes, otherwise, place_facts, remarks, run_facts, score_facts


def bench_markdown(runs: Sequence[Run], known: Mapping[str, Size]) -> str:
    """The report as one Markdown page."""
    lines = [f"# {cell(title(runs))}", ""]
    if len(runs) == 1:
        lines.append(" · ".join(f"**{cell(fact.value)}** {fact.name}" for fact in run_facts(runs[0])))
    else:
        lines += [f"- **{cell(run.name)}**: {cell(run.judge)}" for run in runs]
    lines += ["", "## Scores", "", *_rows(score_rows(runs), runs)]
    for run in runs:
        if run.overall.value is None:
            lines += ["", f"{cell(run.name)}: no Overall, without {', '.join(run.overall.missing)}."]
    for plot in (overall_scaling(runs), *overall_sizes(runs, known)):
        lines += [] if plot is None else ["", *_plot(plot)]
    for name in benchmark_names(runs):
        lines += _benchmark(runs, name, known)
    return "\n".join([*lines, "", FOOTER]) + "\n"


def _benchmark(runs: Sequence[Run], name: str, known: Mapping[str, Size]) -> Iterator[str]:
    there = [(run, one) for run in runs if (one := run.benchmark(name)) is not None]
    yield from ("", f"## {cell(there[0][1].score.title)}")
    for run, one in there:
        yield ""
        if len(runs) > 1:
            yield from (f"### {cell(run.name)}", "")
        yield from _one(one)
    yield from ("", "**Subsets**", "", *_rows(part_rows(runs, name), runs))
    tokens = token_rows(runs, name)
    if tokens is not None:
        yield from ("", "**Tokens written per vote, mean**", "", *_rows(tokens, runs, ("mean", "")))
    for run, one in there:
        yield from _tables(run.name if len(runs) > 1 else "", one)
    for plot in plots_of(runs, known, name):
        yield from ("", *_plot(plot))


def _tables(name: str, one: BenchmarkRun) -> Iterator[str]:
    """The score's other measures, each figure with its interval."""
    for shown in one.score.tables:
        head = f"{cell(name)}: " if name else ""
        yield from ("", f"**{head}{cell(shown.name)}**: {cell(shown.about)}", "")
        yield from table(
            ("", "n", *shown.columns),
            [
                (row.name, number(row.n), *(with_reach(v, s) for v, s in zip(row.values, row.intervals, strict=True)))
                for row in shown.rows
            ],
        )


def _one(one: BenchmarkRun) -> Iterator[str]:
    score = one.score
    interval = f" (95 % {reach(score.interval)})" if score.interval else ""
    yield f"**{points(score.score)}**{interval}, n = {number(score.cases)}; ties {score.counting.ties}, failures " + (
        score.counting.failures
    )
    for note in caveats(one):
        yield from ("", f"> {cell(note)}")
    for remark in remarks(one):
        yield from ("", f"{cell(remark)}.")
    yield ""
    yield from table(("", "", ""), [(fact.name, fact.value, fact.aside) for fact in score_facts(one)])
    for name, told in otherwise(one).items():
        yield from ("", *table((name, *told), [("score", *told.values())]))
    for name, counts in (("units without an answer", score.failures), ("votes without a verdict", lost_votes(one))):
        if counts:
            yield from ("", *table((name, "n"), [(kind, number(n)) for kind, n in counts.items()]))
    for name, facts in (("Length bias", length_facts(one)), ("Position bias", place_facts(one))):
        if facts:
            yield from ("", f"**{name}**", "", *table(("", "", ""), [_fact(fact) for fact in facts]))


def _fact(fact: Fact) -> tuple[str, str, str]:
    return fact.name, fact.value, fact.aside


def _rows(shown: Rows, runs: Sequence[Run], columns: tuple[str, str] = ("score", "95 %")) -> Iterator[str]:
    names = [columns[0] if len(runs) == 1 else run.name for run in runs]
    heads = [head for name in names for head in (name, columns[1])]
    body = [
        (
            f"{'– ' * row.depth}{row.name}",
            row.note,
            *(part for place in range(len(runs)) for part in _mark(row.marks, place)),
        )
        for row in shown.rows
    ]
    yield from table(("", "", *heads), body)


def _mark(marks: Sequence[Mark], place: int) -> tuple[str, str]:
    found = next((mark for mark in marks if mark.place == place), None)
    if found is None:
        return "", ""
    return found.text, found.said.removeprefix("95 % ") if found.low is not None else found.said


def _plot(plot: Plot) -> Iterator[str]:
    """A plot as the table of its points."""
    at = sorted({point.x for line in plot.lines for point in line.points})
    yield from (f"**{cell(plot.title)}**", "")
    body = [
        (line.name, *(next((f"{p.y:.1f}" for p in line.points if p.x == x), "") for x in at)) for line in plot.lines
    ]
    body += [(level.name, f"{level.y:.1f}", *([""] * (len(at) - 1))) for level in plot.levels]
    yield from table((plot.x_name, *(number(x) for x in at)), body)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(map(cell, columns))} |"
    yield f"|{'---|' * len(columns)}"
    yield from (f"| {' | '.join(map(cell, row))} |" for row in rows)


def cell(text: str) -> str:
    """A text that cannot leave its cell, start a heading or become a tag."""
    flat = " ".join(text.split())
    return flat.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "ʼ").replace("*", "\\*")
