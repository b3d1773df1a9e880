"""Benchmark runs as rows on one scale: scores, subsets, lengths of what the judge wrote (seed figure 4). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import Mark, Row, Rows, log_range
from ..words import number
from .run import Run
from .score import Part, Span

ALL = "all"


def points(value: float | None) -> str:
    """A score in percent."""
    return "–" if value is None else f"{value:.1f}"


def reach(span: Span | None) -> str:
    """An interval in percent; empty where there is none."""
    return "" if span is None else f"{span.low:.1f}–{span.high:.1f}"


def with_reach(value: float | None, span: Span | None) -> str:
    """A figure with its interval, where it has one."""
    return points(value) + (f" ({reach(span)})" if span is not None and value is not None else "")


def score_rows(runs: Sequence[Run]) -> Rows:
    """Overall, where a run has it, and every benchmark."""
    rows: list[Row] = []
    if any(run.overall.value is not None for run in runs):
        marks = [Mark(place=place, value=run.overall.value, text=points(run.overall.value)) for place, run in _at(runs)]
        rows.append(Row(name="Overall", marks=tuple(marks), note="mean of four"))
    for name in benchmark_names(runs):
        there = [(place, one) for place, run in _at(runs) if (one := run.benchmark(name)) is not None]
        marks = [_mark(place, one.score.score, one.score.interval) for place, one in there]
        note = _counts([one.score.cases for _, one in there])
        rows.append(Row(name=there[0][1].score.title, marks=tuple(marks), note=note, link=name))
    return Rows(title="Official scores", rows=tuple(rows))


def part_rows(runs: Sequence[Run], name: str) -> Rows:
    """Sections and subsets of a benchmark, as its formula has them, then the figures that people give beside it."""
    there = [(place, one.score) for place, run in _at(runs) if (one := run.benchmark(name)) is not None]
    tables = [(place, dict(score.walk())) for place, score in there]
    rows = [
        Row(
            name=name,
            marks=_marks([(place, own[path]) for place, own in tables if path in own]),
            note=_counts([own[path].n for _, own in tables if path in own]),
            depth=depth,
        )
        for path, name, depth in _paths(there[0][1].parts, [own for _, own in tables])
    ]
    for figure in dict.fromkeys(figure for _, score in there for figure in score.beside):
        marks = [
            Mark(place=place, value=score.beside.get(figure), text=points(score.beside.get(figure)))
            for place, score in there
        ]
        rows.append(Row(name=figure, marks=tuple(marks), note="beside the score"))
    return Rows(title="Subsets", rows=tuple(rows))


def token_rows(runs: Sequence[Run], name: str) -> Rows | None:
    """Tokens written per vote by subset, mean; None where no run counted any."""
    there = [(place, one) for place, run in _at(runs) if (one := run.benchmark(name)) is not None]
    lengths = [(place, found) for place, one in there if (found := one.lengths)]
    values = [own.written.mean for _, found in lengths for own in found.values()]
    if not values or max(values) < 1:
        return None
    rows = [
        Row(
            name="all subsets" if subset == ALL else subset,
            marks=tuple(
                Mark(
                    place=place,
                    value=max(1.0, found[subset].written.mean),
                    text=number(round(found[subset].written.mean, 1)),
                    said=f"median {number(found[subset].written.median)}, 95 % at most "
                    f"{number(round(found[subset].written.p95))}, read {number(round(found[subset].prompt.mean))}",
                )
                for place, found in lengths
                if subset in found
            ),
            note=f"{number(max(found[subset].votes for _, found in lengths if subset in found))} votes",
        )
        for subset in dict.fromkeys(subset for _, found in lengths for subset in found)
    ]
    low, high = log_range(values)
    return Rows(title="Tokens written per vote", rows=tuple(rows), low=low, high=high, log=True)


def benchmark_names(runs: Sequence[Run]) -> list[str]:
    """The benchmarks of all runs, in the order of appearance."""
    return list(dict.fromkeys(one.name for run in runs for one in run.benchmarks))


def _at(runs: Sequence[Run]) -> list[tuple[int, Run]]:
    return list(enumerate(runs))


def _mark(place: int, value: float | None, span: Span | None) -> Mark:
    return Mark(
        place=place,
        value=value,
        text=points(value),
        low=None if span is None else span.low,
        high=None if span is None else span.high,
        said=f"95 % {reach(span)}" if span is not None else "",
    )


def _marks(found: Sequence[tuple[int, Part]]) -> tuple[Mark, ...]:
    """A mark for each run; one alone where no run has a case."""
    if all(part.value is None for _, part in found):
        return (Mark(place=found[0][0], value=None, text="no case"),)
    return tuple(_mark(place, part.value, part.interval) for place, part in found)


def _counts(cases: Sequence[int]) -> str:
    """Over how many cases; from the fewest to the most, where runs differ."""
    low, high = min(cases), max(cases)
    return f"n = {number(low)}" if low == high else f"n = {number(low)}–{number(high)}"


def _paths(parts: Sequence[Part], tables: Sequence[dict[str, Part]]) -> list[tuple[str, str, int]]:
    """Every path with name and depth: those of the first run in its order, then those that only others have."""
    own = _walk(parts, "", 0)
    known = {path for path, _, _ in own}
    others = dict.fromkeys(path for table in tables for path in table if path not in known)
    return [*own, *((path, path, 0) for path in others)]


def _walk(parts: Sequence[Part], prefix: str, depth: int) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    for part in parts:
        path = f"{prefix}{part.name}"
        found += [(path, part.name, depth), *_walk(part.parts, f"{path}/", depth + 1)]
    return found
