"""Two runs compared, benchmark by benchmark, over the cases that both have. Pure, but for the tables it looks into.

Cases are resampled together, so that the interval of a difference does not hold the spread of the cases themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from assay.bench.catalog import find_benchmark
from assay.bench.measure import Measured
from assay.bench.overall import PARTS
from assay.bench.running.gains import joint_scores, shared_cases
from assay.bench.score import Part
from assay.core.errors import InputError
from assay.core.stats import percentile

from .run import BenchmarkRun, Run
from .significance import Signs, bootstrap_p, signs, worth

BEFORE, AFTER = "before", "after"
BESIDE = "beside/"
DRAWS = 1000
_ASKED = ("judge", "k", "orders", "seed", "meta", "k_meta", "limit", "reduce", "units_hash")
_POLICY = ("ties", "failures", "scalar")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A figure of both runs over their common cases. ``p``: of the paired bootstrap.

    ``path``: as ``Score.flat`` has it. ``name`` and ``depth``: of the part, in the tree of parts.
    """

    path: str
    name: str = ""
    depth: int = 0
    before: float
    after: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int | None = None

    @property
    def value(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedBenchmark:
    """One benchmark. ``figures``: the score first (path ``""``), then its parts.

    ``signs``: None where a single case is worth nothing by itself. ``notes``: what else differs between the runs.
    """

    name: str
    title: str
    series: tuple[str, str]
    figures: tuple[Difference, ...]
    signs: Signs | None
    shared: int
    only_before: int
    only_after: int
    notes: tuple[str, ...]
    draws: tuple[float, ...]
    """Of the score's difference."""

    @property
    def score(self) -> Difference:
        return self.figures[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs. ``overall``: None where one of its benchmarks is missing in either."""

    before: str
    after: str
    benchmarks: tuple[ComparedBenchmark, ...]
    overall: Difference | None
    only_before: tuple[str, ...]
    """Titles of benchmarks that the other run has not."""
    only_after: tuple[str, ...]


def compare_runs(
    before: Run, after: Run, *, series: str | None = None, draws: int = DRAWS, seed: int = 0
) -> Comparison:
    """What the second run is above the first.

    Args:
        series: which series of both (``greedy``, ``voting@8``); None = the one that each run's score is of.
        draws: resamples of the common cases.

    Raises:
        InputError: no common benchmark, or no common case in one; a run has no such series.
    """
    there = [(one, other) for one in before.benchmarks if (other := after.benchmark(one.name)) is not None]
    if not there:
        names = (", ".join(one.name for one in run.benchmarks) for run in (before, after))
        raise InputError(
            f"the runs have no benchmark in common: {before.name!r} has {' and the other one '.join(names)}"
        )
    found = tuple(_benchmark(one, other, series, draws, seed) for one, other in there)
    return Comparison(
        before=before.name,
        after=after.name,
        benchmarks=found,
        overall=_overall(found),
        only_before=tuple(one.score.title for one in before.benchmarks if after.benchmark(one.name) is None),
        only_after=tuple(one.score.title for one in after.benchmarks if before.benchmark(one.name) is None),
    )


def _benchmark(one: BenchmarkRun, other: BenchmarkRun, series: str | None, draws: int, seed: int) -> ComparedBenchmark:
    names = (_series(one, series), _series(other, series))
    cases = {BEFORE: one.cases(names[0]), AFTER: other.cases(names[1])}
    shared = shared_cases(cases)
    if not shared:
        raise InputError(f"the runs have no case of {one.name!r} in common: were they asked about the same data?")
    drawn: dict[str, list[float]] = defaultdict(list)
    scores = joint_scores(find_benchmark(one.name), cases, draws=draws, seed=seed)
    whole = next(scores)
    first = {name: score.flat() for name, score in whole.items()}
    for pair in scores:
        flat = {name: score.flat() for name, score in pair.items()}
        for path, value in _both(flat).items():
            drawn[path].append(value[1] - value[0])
    figures = tuple(_figure(path, value, drawn[path]) for path, value in _both(first).items())
    if not figures or figures[0].path:
        raise InputError(f"the common cases of {one.name!r} have no score: is a label missing among them?")
    parts = _parts(whole[BEFORE].parts)
    return ComparedBenchmark(
        name=one.name,
        title=one.score.title,
        series=names,
        figures=(replace(figures[0], n=len(shared)), *(_named(figure, parts) for figure in figures[1:])),
        signs=_signs(cases, shared),
        shared=len(shared),
        only_before=len(cases[BEFORE]) - len(shared),
        only_after=len(cases[AFTER]) - len(shared),
        notes=tuple(_notes(one, other)),
        draws=tuple(drawn[""]),
    )


def _series(one: BenchmarkRun, series: str | None) -> str:
    name = one.score.of if series is None else series
    if one.series(name) is None:
        there = ", ".join(own.name for own in one.score.series)
        raise InputError(f"{str(one.folder)!r} has no series {name!r}: there are {there}")
    return name


def _both(flat: Mapping[str, Mapping[str, float | None]]) -> dict[str, tuple[float, float]]:
    """The figures that both have, by path."""
    return {
        path: (value, other)
        for path, value in flat[BEFORE].items()
        if value is not None and (other := flat[AFTER].get(path)) is not None
    }


def _figure(path: str, value: tuple[float, float], drawn: Sequence[float]) -> Difference:
    return Difference(
        path=path,
        before=value[0],
        after=value[1],
        low=percentile(drawn, 2.5),
        high=percentile(drawn, 97.5),
        p=bootstrap_p(drawn),
    )


def _parts(parts: Sequence[Part], prefix: str = "", depth: int = 0) -> dict[str, tuple[Part, int]]:
    """Every part and how deep it lies, by path."""
    found: dict[str, tuple[Part, int]] = {}
    for part in parts:
        path = f"{prefix}{part.name}"
        found |= {path: (part, depth), **_parts(part.parts, f"{path}/", depth + 1)}
    return found


def _named(figure: Difference, parts: Mapping[str, tuple[Part, int]]) -> Difference:
    if figure.path not in parts:
        return replace(figure, name=figure.path.removeprefix(BESIDE))
    part, depth = parts[figure.path]
    return replace(figure, name=part.name, depth=depth, n=part.n)


def _signs(cases: Mapping[str, Sequence[Measured]], shared: set[tuple[str, str]]) -> Signs | None:
    tables = {name: {(one.subset, one.case): worth(one.values) for one in own} for name, own in cases.items()}
    pairs = [(tables[BEFORE][key], tables[AFTER][key]) for key in sorted(shared)]
    told = [(one, other) for one, other in pairs if one is not None and other is not None]
    return signs(told) if told else None


def _notes(one: BenchmarkRun, other: BenchmarkRun) -> list[str]:
    """What was asked or counted otherwise."""
    found: list[str] = []
    for name in _ASKED:
        mine, others = one.score.asked.get(name), other.score.asked.get(name)
        if mine != others:
            found.append(
                "the data are not the same" if name == "units_hash" else f"{name}: {_said(mine)} and {_said(others)}"
            )
    counted = one.score.counting.model_dump(), other.score.counting.model_dump()
    found += [
        f"counting, {n}: {_said(counted[0][n])} and {_said(counted[1][n])}"
        for n in _POLICY
        if counted[0][n] != counted[1][n]
    ]
    return found


def _said(value: object) -> str:
    return "not said" if value is None else str(value)


def _overall(found: Sequence[ComparedBenchmark]) -> Difference | None:
    """Benchmarks are drawn independently of each other, so their draws add up in any order."""
    by_name = {one.name: one for one in found}
    parts = [next((by_name[name] for name in names if name in by_name), None) for _, names in PARTS]
    there = [one for one in parts if one is not None]
    if len(there) < len(PARTS):
        return None
    drawn = [fmean(together) for together in zip(*(one.draws for one in there), strict=False)]
    values = (fmean(one.score.before for one in there), fmean(one.score.after for one in there))
    return _figure("Overall", values, drawn)
