"""From judged units to a score with intervals: cases put together, measured, added up, and resampled.

The bootstrap resamples cases within each subset (a case is what is independent: a question with all that was asked
about it), so the sizes of the subsets stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.core.errors import InputError
from assay.core.seeds import derive_seed

from .benchmark import Benchmark
from .counting import Counting
from .measure import Cases, Measured
from .score import Score
from .unit import Judged

DRAWS = 1000
_LOW, _HIGH = 2.5, 97.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The measured cases by subset, and the ids of those that are not among them."""

    cases: Mapping[str, Cases]
    excluded: tuple[str, ...] = ()
    """Cases that the rule for failures leaves out."""
    incomplete: tuple[str, ...] = ()
    """Cases of which not all units were judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The middle 95 % of the bootstrap draws, in percent."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A score, how sure it is, and what it does not count."""

    score: Score
    intervals: Mapping[str, Interval]
    """By the paths of ``Score.flat``."""
    counted: int
    """Cases that count."""
    excluded: tuple[str, ...]
    incomplete: tuple[str, ...]
    missing: tuple[str, ...]
    """Official subsets of which no case counts."""
    unofficial: tuple[str, ...] = field(default=())
    """Subsets that count and are not official ones, of a benchmark that has official ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCases:
    """Every case that is measured, and the ids of those that are not."""

    measured: tuple[Measured, ...]
    excluded: tuple[str, ...]
    incomplete: tuple[str, ...]


def measured_cases(benchmark: Benchmark, judged: Iterable[Judged], counting: Counting) -> MeasuredCases:
    """Put the units of each case together and measure it.

    Raises:
        InputError: a unit was judged twice, or an answer does not fit its unit.
    """
    groups: dict[tuple[str, str], dict[str, Judged]] = defaultdict(dict)
    for one in judged:
        group = groups[one.unit.subset, one.unit.case]
        if one.unit.item.id in group:
            raise InputError(f"unit {one.unit.item.id!r} is answered twice: one answer a unit can be counted")
        group[one.unit.item.id] = one
    measured: list[Measured] = []
    excluded: list[str] = []
    incomplete: list[str] = []
    for (_, case), group in groups.items():
        # Sorted, so that the order in which answers came in changes nothing.
        several = [group[name] for name in sorted(group)]
        if len(several) < several[0].unit.units_of_case:
            incomplete.append(case)
            continue
        found = benchmark.measure(several, counting)
        if found is None:
            excluded.append(case)
        else:
            measured.append(found)
    return MeasuredCases(
        measured=tuple(measured), excluded=tuple(sorted(excluded)), incomplete=tuple(sorted(incomplete))
    )


def gather(benchmark: Benchmark, judged: Iterable[Judged], counting: Counting) -> Gathered:
    """The measured cases of each subset. Raises InputError as ``measured_cases``."""
    found = measured_cases(benchmark, judged, counting)
    by_subset: dict[str, list[Measured]] = defaultdict(list)
    for one in found.measured:
        by_subset[one.subset].append(one)
    cases = {subset: Cases.of(own) for subset, own in sorted(by_subset.items())}
    return Gathered(cases=cases, excluded=found.excluded, incomplete=found.incomplete)


def aggregate(
    benchmark: Benchmark, judged: Iterable[Judged], counting: Counting, *, draws: int = DRAWS, seed: int = 0
) -> Aggregate:
    """The score by a counting, with bootstrap intervals.

    Args:
        draws: bootstrap resamples; 0 = no intervals. seed: theirs; the same one gives the same intervals.

    Raises:
        InputError: as ``gather``; ``draws`` is 1 or negative; nothing can be counted.
    """
    if draws < 0 or draws == 1:
        raise InputError(f"a bootstrap needs at least 2 draws (or 0 for none), got {draws}")
    found = gather(benchmark, judged, counting)
    if not found.cases:
        left = f"{len(found.excluded)} excluded by the rule for failures, {len(found.incomplete)} incomplete"
        raise InputError(f"no case of {benchmark.name!r} can be counted ({left})")
    return Aggregate(
        score=benchmark.combine(found.cases),
        intervals=bootstrap(benchmark, found.cases, draws=draws, seed=seed),
        counted=sum(cases.count for cases in found.cases.values()),
        excluded=found.excluded,
        incomplete=found.incomplete,
        missing=tuple(subset for subset in benchmark.subsets if subset not in found.cases),
        unofficial=tuple(s for s in found.cases if benchmark.subsets and s not in benchmark.subsets),
    )


def bootstrap(
    benchmark: Benchmark, cases: Mapping[str, Cases], *, draws: int = DRAWS, seed: int = 0
) -> dict[str, Interval]:
    """Intervals of every figure of the score, by path; figures that are not there have none."""
    found: dict[str, list[float]] = defaultdict(list)
    for score in resampled_scores(benchmark, cases, draws=draws, seed=seed):
        for path, value in score.flat().items():
            if value is not None:
                found[path].append(value)
    return {path: _interval(values) for path, values in found.items()}


def resampled_scores(benchmark: Benchmark, cases: Mapping[str, Cases], *, draws: int, seed: int = 0) -> Iterable[Score]:
    """The score of each resample. A subset's draws follow from the seed and its name, whatever other subsets there
    are."""
    generators = {
        subset: np.random.default_rng(derive_seed(subset, benchmark.name, 0, "bootstrap", base=seed))
        for subset in cases
    }
    for _ in range(draws):
        yield benchmark.combine({subset: own.resampled(generators[subset]) for subset, own in cases.items()})


def _interval(values: Sequence[float]) -> Interval:
    low, high = np.percentile(values, (_LOW, _HIGH))
    return Interval(low=float(low), high=float(high))
