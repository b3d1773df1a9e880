"""Mean and standard deviation, exact enough that equal rewards have a deviation of 0 and order changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from assay.core.errors import InputError

Std: TypeAlias = Literal["population", "sample"]
"""The divisor of the variance: n or n - 1. Of 1 right answer in 4: advantages 1.732, -0.577 or 1.5, -0.5.

The default everywhere here is ``population``: the group is all there is, not a draw from a larger one, and it is
defined for any group. verl, slime and TRL use ``sample``, torch's default.
"""

_EQUAL = 1e-9


def mean(values: Sequence[float]) -> float:
    """The mean of one value or more."""
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float], kind: Std) -> float | None:
    """None where it is not defined: of no value, and for ``sample`` of one."""
    if kind not in ("population", "sample"):
        raise InputError(f"std is {kind!r}: use 'population' (divide by n) or 'sample' (by n - 1)")
    freedom = len(values) - (1 if kind == "sample" else 0)
    if freedom < 1:
        return None
    if all_equal(values):
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / freedom)


def all_equal(values: Sequence[float]) -> bool:
    """Whether the values are one, but for rounding."""
    low, high = min(values), max(values)
    return high - low <= _EQUAL * max(1.0, abs(low), abs(high))
