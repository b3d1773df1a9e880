"""Proportions and areas with 95 % intervals that behave at 0 and 1, where small runs live.

Every interval treats the judgments as independent. Several candidates of one question are not quite: read the widths as
a little optimistic there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from assay.core.stats import wilson

Z = 1.96


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


def balanced_accuracy(positive: Rate, negative: Rate) -> Interval | None:
    """The mean of two rates; None when one of them has nothing to count.

    The interval adds the distances to the two Wilson limits as squares (Newcombe 1998, method 10, for a sum).
    """
    one, other = positive.interval, negative.interval
    if one is None or other is None:
        return None
    value = (one.value + other.value) / 2
    down = math.hypot(one.value - one.low, other.value - other.low) / 2
    up = math.hypot(one.high - one.value, other.high - other.value) / 2
    return Interval(value=value, low=max(0.0, value - down), high=min(1.0, value + up))


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
