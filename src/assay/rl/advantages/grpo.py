"""GRPO (arXiv 2402.03300): how many deviations a sample lies above the mean of its group.

A_i = (r_i - mean(r)) / (std(r) + eps), and 0 for a group whose valid rewards are all equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from .group import GroupAdvantages, GroupStats, Reward, over_valid
from .spread import Std

EPS = 1e-6


def grpo(rewards: Sequence[Reward], *, std: Std = "population", eps: float = EPS) -> GroupAdvantages:
    """The advantages of one group; ``std``: which deviation (see ``spread.Std``), ``eps``: added to it."""

    def formula(valid: Sequence[float], stats: GroupStats) -> list[float]:
        if stats.dead or stats.mean is None or stats.std is None:
            return [0.0] * len(valid)
        return [(reward - stats.mean) / (stats.std + eps) for reward in valid]

    return over_valid(rewards, formula, std=std)
