"""The plots of benchmark runs: score against votes (seed figures 5 and 6), against the votes that the meta RM keeps,
and against the size of the model (figure 7). Pure.

Every plot puts all runs on one scale. Greedy stands as a dashed line, for it is another temperature: a vote of k = 1
is not it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.bench.benchmarks.ppe_best_of_k import CURVE, OF_SETS, PERFECT, K
from assay.bench.overall import overall

from ..plot import Level, Line, Plot, Point
from .run import GREEDY, Run
from .score import Row, Series, Table

ONCE = "once"
VOTING, META = "voting@", "meta@"
OVERALL = "Overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Parameters of a run's model, in billions: in all, and those that a token passes."""

    total: float | None = None
    active: float | None = None


def plots_of(runs: Sequence[Run], known: Mapping[str, Size], name: str) -> list[Plot]:
    """Every plot of a benchmark for which there are figures."""
    made = (scaling(runs, name), best_of_k(runs, name), kept_by_meta(runs, name), *sizes(runs, known, name))
    return [plot for plot in made if plot is not None]


def scaling(runs: Sequence[Run], name: str) -> Plot | None:
    """A benchmark's score by k; None where no run has two points."""
    found = {place: (run.name, one.score.series) for place, run in enumerate(runs) if (one := run.benchmark(name))}
    return _scaling(found, "Score by votes", bare=len(runs) == 1)


def overall_scaling(runs: Sequence[Run]) -> Plot | None:
    """Overall by k, where a run has all of its benchmarks at that k; None where none has two points."""
    found = {place: (run.name, _overall_series(run)) for place, run in enumerate(runs)}
    return _scaling(found, "Overall by votes", bare=len(runs) == 1)


def best_of_k(runs: Sequence[Run], name: str) -> Plot | None:
    """How often the best of k is right, by k: each set and their mean, of several runs the mean; as a ring, the best
    there is. None where no run has such a table with two k."""
    found = {
        place: (run, table)
        for place, run in enumerate(runs)
        if (one := run.benchmark(name)) is not None
        for table in one.score.tables
        if table.name == CURVE and len(table.columns) > 1
    }
    if not found:
        return None
    lines: list[Line] = []
    for place, (run, table) in found.items():
        shown = _shown(table, whole=len(runs) == 1)
        for nth, row in enumerate(shown):
            named = row.name if len(runs) == 1 else f"{run.name}: {row.name}"
            lines.append(
                Line(
                    name=named,
                    points=_row_points(table, row),
                    colour=nth if len(runs) == 1 else place,
                    hollow=row.name == PERFECT,
                )
            )
    return Plot(title="Right by the best of k responses", x_name="k, responses", lines=tuple(lines))


def _shown(table: Table, *, whole: bool) -> list[Row]:
    """The mean and the best there is; of several sets, where there is room, each of them too."""
    sets = [row for row in table.rows if row.name not in (OF_SETS, PERFECT)]
    means = [row for row in table.rows if row.name in (OF_SETS, PERFECT)]
    return [*(sets if whole and len(sets) > 1 else ()), *means]


def _row_points(table: Table, row: Row) -> tuple[Point, ...]:
    """A row's figures over the k of its columns. Intervals only where lines do not lie over each other."""
    alone = row.name == OF_SETS
    return tuple(
        Point(
            x=int(column.removeprefix(K)),
            y=value,
            low=span.low if alone and span else None,
            high=span.high if alone and span else None,
        )
        for column, value, span in zip(table.columns, row.values, row.intervals, strict=True)
        if value is not None
    )


def kept_by_meta(runs: Sequence[Run], name: str) -> Plot | None:
    """A benchmark's score by k_meta, all votes drawn; None where no run has a sweep."""
    lines: list[Line] = []
    levels: list[Level] = []
    for place, run in enumerate(runs):
        one = run.benchmark(name)
        series = () if one is None else one.score.series
        k = max((s.k for s in series if s.name.startswith(META)), default=0)
        own = {s.k_meta: s for s in series if s.name.startswith(META) and s.k == k and s.score is not None}
        points = tuple(_point(kept, own[kept]) for kept in sorted(kept for kept in own if kept))
        if len(points) < 2:
            continue
        start = "" if len(runs) == 1 else f"{run.name}: "
        plain = next((s.score for s in series if s.name == f"{VOTING}{k}"), None)
        if plain is not None:
            levels.append(Level(name=f"{start}Voting@{k}", y=plain, colour=None if len(runs) == 1 else place))
        lines.append(Line(name=f"{start}MetaRM@{k}", points=points, colour=place))
    if not lines:
        return None
    return Plot(title="Score by votes kept", x_name="k_meta", lines=tuple(lines), levels=tuple(levels))


def overall_sizes(runs: Sequence[Run], known: Mapping[str, Size]) -> list[Plot]:
    """Overall, greedy where there is that, against total and against active parameters; as ``sizes``."""
    return _sizes(runs, known, OVERALL, [_greedy_overall(run) for run in runs])


def sizes(runs: Sequence[Run], known: Mapping[str, Size], name: str) -> list[Plot]:
    """A benchmark's greedy score (the score, where there is no greedy pass) against total and active parameters.

    A plot needs two runs whose size is known.
    """
    return _sizes(runs, known, "Score", [_greedy(run, name) for run in runs])


def _sizes(runs: Sequence[Run], known: Mapping[str, Size], title: str, scores: Sequence[float | None]) -> list[Plot]:
    found: list[Plot] = []
    for which, of in (("total", _total), ("active", _active)):
        lines = [
            Line(name=run.name, points=(Point(x=x, y=y),), colour=place)
            for place, (run, y) in enumerate(zip(runs, scores, strict=True))
            if y is not None and (x := of(known.get(run.name, Size()))) is not None
        ]
        if len(lines) > 1:
            name = f"{which} parameters, billions"
            found.append(Plot(title=f"{title} by {which} parameters", x_name=name, lines=tuple(lines), base=10))
    return found


def _scaling(found: Mapping[int, tuple[str, Iterable[Series]]], title: str, *, bare: bool) -> Plot | None:
    lines: list[Line] = []
    levels: list[Level] = []
    for place, (run, series) in found.items():
        start, own = "" if bare else f"{run}: ", list(series)
        voting, meta = _by_k(own, VOTING), _by_k(own, META)
        if meta and voting and voting[0].x == 1:
            # With one vote there is nothing to sort out: both curves begin at the same point.
            meta = (voting[0], *(point for point in meta if point.x > 1))
        for name, points in (("Voting@k", voting), ("MetaRM@k", meta)):
            if len(points) > 1:
                plain = name == "Voting@k" and len(meta) > 1
                colour = 1 if bare and plain else place
                lines.append(Line(name=f"{start}{name}", points=points, colour=colour, hollow=plain))
        levels += [
            Level(name=f"{start}{one.name}", y=one.score, colour=None if bare else place)
            for one in own
            if one.name in (GREEDY, ONCE) and one.score is not None
        ]
    if not lines:
        return None
    return Plot(title=title, x_name="k, votes", lines=tuple(lines), levels=tuple(levels))


def _by_k(series: Iterable[Series], start: str) -> tuple[Point, ...]:
    """The series of a family with one point for each k; a sweep over k_meta is none."""
    own = [one for one in series if one.name.startswith(start) and "/" not in one.name and one.score is not None]
    return tuple(_point(one.k, one) for one in sorted(own, key=lambda one: one.k))


def _point(x: float, series: Series) -> Point:
    assert series.score is not None  # whoever calls has left the others out
    interval = series.interval
    return Point(
        x=x,
        y=series.score,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def _overall_series(run: Run) -> list[Series]:
    """Overall of every series that all four benchmarks have."""
    names = dict.fromkeys(series.name for one in run.benchmarks for series in one.score.series)
    found: list[Series] = []
    for name in names:
        there = {one.name: series for one in run.benchmarks if (series := one.series(name)) is not None}
        value = overall({benchmark: series.score for benchmark, series in there.items()}).value
        if value is not None:
            first = next(iter(there.values()))
            found.append(Series(name=name, k=first.k, k_meta=first.k_meta, score=value))
    return found


def _greedy(run: Run, name: str) -> float | None:
    one = run.benchmark(name)
    if one is None:
        return None
    greedy = one.series(GREEDY)
    return one.score.score if greedy is None else greedy.score


def _greedy_overall(run: Run) -> float | None:
    return overall({one.name: _greedy(run, one.name) for one in run.benchmarks}).value


def _total(size: Size) -> float | None:
    return size.total


def _active(size: Size) -> float | None:
    return size.active
