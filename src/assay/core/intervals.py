"""Proportions, differences, areas and any statistic with 95 % intervals that behave at 0 and 1, where small runs live.

Every interval treats the judgments as independent. Several candidates of one question are not quite: read the widths as
a little optimistic there. Does not own: the bootstrap of benchmarks, which draws within subsets (``bench.aggregate``).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .stats import percentile, wilson

U = TypeVar("U")
Z = 1.96
TIMES = 1000
"""Resamples of a bootstrap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """``hits`` out of ``n``."""

    hits: int
    n: int

    @property
    def interval(self) -> Interval | None:
        """The proportion with its Wilson interval; None when nothing was seen."""
        if self.n == 0:
            return None
        low, high = wilson(self.hits, self.n, Z)
        return Interval(value=self.hits / self.n, low=low, high=high)


def weighted_mean(parts: Sequence[tuple[Interval, float]]) -> Interval:
    """The mean of proportions of different questions, each with its weight; ValueError without any.

    The distances to the limits add as squares (Newcombe 1998, method 10, for two; Zou and Donner 2008).
    """
    total = math.fsum(weight for _, weight in parts)
    if not total:
        raise ValueError("a mean of nothing: there must be a part that weighs something")
    value = math.fsum(weight * one.value for one, weight in parts) / total
    down = math.hypot(*(weight * (one.value - one.low) for one, weight in parts)) / total
    up = math.hypot(*(weight * (one.high - one.value) for one, weight in parts)) / total
    return Interval(value=value, low=max(0.0, value - down), high=min(1.0, value + up))


def difference(one: Interval, other: Interval) -> Interval:
    """``one`` less ``other``, two proportions of different questions (Newcombe 1998, method 10)."""
    value = one.value - other.value
    down = math.hypot(one.value - one.low, other.high - other.value)
    up = math.hypot(one.high - one.value, other.value - other.low)
    return Interval(value=value, low=value - down, high=value + up)


def paired_difference(pairs: Sequence[tuple[bool, bool]]) -> Interval | None:
    """The share of yes in the first place less that in the second, over the same questions; None without any.

    The interval is that of Agresti and Min (2005): Wald's, with half a question more in each of the four cells.
    """
    n = len(pairs)
    if not n:
        return None
    gained = sum(one and not other for one, other in pairs)
    lost = sum(other and not one for one, other in pairs)
    total, up, down = n + 2, gained + 0.5, lost + 0.5
    middle = (up - down) / total
    spread = Z * math.sqrt((up + down) / total - middle**2) / math.sqrt(total)
    return Interval(value=(gained - lost) / n, low=max(-1.0, middle - spread), high=min(1.0, middle + spread))


def bootstrap(
    units: Iterable[U], statistic: Callable[[Sequence[U]], float | None], *, seed: int = 0, times: int = TIMES
) -> tuple[float, float] | None:
    """The middle 95 % of the statistic over resampled units; None where it is defined on none of the resamples."""
    # In an order of their own: the same units give the same interval however they came.
    every = sorted(units, key=repr)
    if not every:
        return None
    rng = random.Random(f"bootstrap/{seed}")
    drawn = (statistic(rng.choices(every, k=len(every))) for _ in range(times))
    found = [value for value in drawn if value is not None]
    low, high = percentile(found, 2.5), percentile(found, 97.5)
    return None if low is None or high is None else (low, high)


def auc_interval(area: float, positives: int, negatives: int) -> Interval:
    """The interval of an area under the ROC curve (Newcombe 2006, method 5).

    As in Wilson's interval, the variance (Hanley and McNeil 1982) is taken at the limit that is looked for, so that an
    area of 0 or 1 still has a width.
    """

    def distance(limit: float) -> float:
        spread = 1 + ((positives + negatives) / 2 - 1) * ((1 - limit) / (2 - limit) + limit / (1 + limit))
        deviation = math.sqrt(max(0.0, limit * (1 - limit) * spread / (positives * negatives)))
        return abs(area - limit) - Z * deviation

    return Interval(value=area, low=_root(distance, 0.0, area), high=_root(distance, 1.0, area))


def _root(distance: Callable[[float], float], far: float, near: float) -> float:
    """Where ``distance`` changes its sign between ``far`` (not negative there) and ``near``."""
    for _ in range(60):
        middle = (far + near) / 2
        if distance(middle) > 0:
            far = middle
        else:
            near = middle
    return (far + near) / 2
