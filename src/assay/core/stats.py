"""Small statistics that tables need, as plain numbers; ``intervals`` has estimates with their limits."""

from __future__ import annotations

import math
from collections.abc import Sequence


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of a proportion (Wilson 1927); (0, 1) when nothing was seen."""
    if n == 0:
        return 0.0, 1.0
    p = hits / n
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """Area under the ROC curve, ties counted half; None when one of the two is empty."""
    if not positives or not negatives:
        return None
    ranked = sorted([(score, 1) for score in positives] + [(score, 0) for score in negatives])
    rank_sum, start = 0.0, 0
    while start < len(ranked):
        stop = start
        while stop < len(ranked) and ranked[stop][0] == ranked[start][0]:
            stop += 1
        mean_rank = (start + 1 + stop) / 2
        rank_sum += mean_rank * sum(label for _, label in ranked[start:stop])
        start = stop
    p = len(positives)
    return (rank_sum - p * (p + 1) / 2) / (p * len(negatives))


def percentile(values: Sequence[float], q: float) -> float | None:
    """The q-th percentile (0..100) by linear interpolation; None when there are no values."""
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * q / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
