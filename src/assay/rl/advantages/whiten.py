"""Whitening: shift and scale numbers of a whole batch to mean 0 and deviation 1, each counted with a weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .spread import Std, all_equal


def whiten(values: Sequence[float], weights: Sequence[float], *, std: Std, eps: float) -> list[float]:
    """(x - mean) / (std + eps), with moments in which x counts ``weight`` times; all 0 where nothing varies."""
    total = math.fsum(weights)
    freedom = total - (1 if std == "sample" else 0)
    counted = [value for value, weight in zip(values, weights, strict=True) if weight > 0]
    if freedom <= 0 or not counted or all_equal(counted):
        return [0.0] * len(values)
    centre = math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / total
    squares = math.fsum(weight * (value - centre) ** 2 for value, weight in zip(values, weights, strict=True))
    scale = math.sqrt(squares / freedom) + eps
    return [(value - centre) / scale for value in values]
