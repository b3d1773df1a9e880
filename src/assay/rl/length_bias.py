"""Whether longer answers earn more: the correlation of reward and length, within groups. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .sample import Group, Status


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None for fewer than 3 pairs, or where one side does not vary."""
    if len(pairs) < 3:
        return None
    xs, ys = zip(*pairs, strict=True)
    x, y = statistics.fmean(xs), statistics.fmean(ys)
    dx, dy = [one - x for one in xs], [one - y for one in ys]
    spread = math.sqrt(math.fsum(d * d for d in dx)) * math.sqrt(math.fsum(d * d for d in dy))
    # Where all are equal but for rounding, what is left is noise.
    tiny = 1e-12 * max(1.0, *map(abs, xs)) * max(1.0, *map(abs, ys)) * len(pairs)
    if spread <= tiny:
        return None
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(dx, dy, strict=True)) / spread))


def length_correlation(groups: Sequence[Group]) -> float | None:
    """Correlation of reward and response length within groups: each is taken as its distance from the group's mean,
    so that hard prompts, which earn little and are answered at length, do not count as a bias of the judge.
    """
    pairs: list[tuple[float, float]] = []
    for group in groups:
        own = [
            (float(sample.response_length), sample.reward.value)
            for sample in group.samples
            if sample.status is not Status.FAILED and sample.reward is not None and sample.reward.value is not None
        ]
        if len(own) > 1:
            length, reward = (statistics.fmean(side) for side in zip(*own, strict=True))
            pairs += [(one - length, earned - reward) for one, earned in own]
    return correlation(pairs)
