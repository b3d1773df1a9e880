"""Several series over the same cases, resampled together: the interval of each, and of what it gains over another.

One draw of cases hits all series, so that a gain's interval does not hold the spread of the cases themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from assay.core.seeds import derive_seed

from ..aggregate import Interval
from ..benchmark import Benchmark
from ..measure import Cases, Floats, Measured
from ..score import Score

_LOW, _HIGH = 2.5, 97.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How much higher one score is than another, in points. ``interval``: None without draws, or without a case."""

    over: str
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The scores of all series over their common cases, and every draw of them; NaN where there is no score.

    ``draws``: series -> (draws,).
    """

    scores: Mapping[str, float | None]
    draws: Mapping[str, Sequence[float]]
    left_out: int
    """Cases that not all series have."""

    def interval(self, name: str) -> Interval | None:
        """The middle 95 % of a series' draws."""
        return _interval(np.array(self.draws[name]))

    def gain(self, name: str, over: str) -> Gain | None:
        """What a series gains over another."""
        value, base = self.scores[name], self.scores[over]
        if value is None or base is None:
            return None
        draws = np.array(self.draws[name]) - np.array(self.draws[over])
        return Gain(over=over, value=value - base, interval=_interval(draws))


def compare(benchmark: Benchmark, measured: Mapping[str, Sequence[Measured]], *, draws: int, seed: int = 0) -> Compared:
    """Series by name, each with its measured cases, over the cases that all of them have."""
    shared = shared_cases(measured)
    drawn: dict[str, list[float]] = {name: [] for name in measured}
    several = joint_scores(benchmark, measured, draws=draws, seed=seed)
    first = next(several, dict[str, Score]())
    for scores in several:
        for name, score in scores.items():
            drawn[name].append(np.nan if score.value is None else score.value)
    return Compared(
        scores={name: first[name].value if name in first else None for name in measured},
        draws=drawn,
        left_out=len({(one.subset, one.case) for cases in measured.values() for one in cases} - shared),
    )


def shared_cases(measured: Mapping[str, Sequence[Measured]]) -> set[tuple[str, str]]:
    """Subset and name of the cases that all series have."""
    keys = [{(one.subset, one.case) for one in cases} for cases in measured.values()]
    return set.intersection(*keys) if keys else set()


def joint_scores(
    benchmark: Benchmark, measured: Mapping[str, Sequence[Measured]], *, draws: int, seed: int = 0
) -> Iterator[dict[str, Score]]:
    """The scores of all series over the cases that all of them have, then those of each draw of these cases.

    Series may be those of two runs, called by two names. Without a common case there is nothing.
    """
    tables = {name: {(one.subset, one.case): one for one in cases} for name, cases in measured.items()}
    joint = _joint(tables, sorted(shared_cases(measured)))
    if not joint:
        return
    columns = {name: {subset: _columns(cases, name) for subset, cases in joint.items()} for name in tables}
    for drawn in chain([joint], _resampled(benchmark, joint, draws, seed)):
        yield {
            name: benchmark.combine(
                {subset: Cases(columns=own[subset], weights=cases.weights) for subset, cases in drawn.items()}
            )
            for name, own in columns.items()
        }


def _joint(
    tables: Mapping[str, Mapping[tuple[str, str], Measured]], keys: Sequence[tuple[str, str]]
) -> dict[str, Cases]:
    """Cases by subset whose components are those of all series: ``<series>\\n<component>``."""
    by_subset: dict[str, list[Measured]] = defaultdict(list)
    for subset, case in keys:
        values = {
            f"{name}\n{component}": value
            for name, table in tables.items()
            for component, value in table[subset, case].values.items()
        }
        by_subset[subset].append(Measured(case=case, subset=subset, values=values))
    return {subset: Cases.of(found) for subset, found in by_subset.items()}


def _resampled(benchmark: Benchmark, joint: Mapping[str, Cases], draws: int, seed: int) -> Iterator[dict[str, Cases]]:
    generators = {
        subset: np.random.default_rng(derive_seed(subset, benchmark.name, 0, "paired", base=seed)) for subset in joint
    }
    for _ in range(draws):
        yield {subset: cases.resampled(generators[subset]) for subset, cases in joint.items()}


def _columns(cases: Cases, name: str) -> dict[str, Floats]:
    """The components of one series."""
    prefix = f"{name}\n"
    return {key.removeprefix(prefix): column for key, column in cases.columns.items() if key.startswith(prefix)}


def _interval(values: Floats) -> Interval | None:
    there = values[~np.isnan(values)]
    if not len(there):
        return None
    low, high = np.percentile(there, (_LOW, _HIGH))
    return Interval(low=float(low), high=float(high))
