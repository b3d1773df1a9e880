"""RLOO (arXiv 2402.14740): the baseline of a sample is the mean reward of the others of its group.

A_i = r_i - mean_{j != i} r_j = n / (n - 1) * (r_i - mean(r)).
"""

from __future__ import annotations

from collections.abc import Sequence

from .dr_grpo import centred
from .group import GroupAdvantages, GroupStats, Reward, over_valid


def rloo(rewards: Sequence[Reward]) -> GroupAdvantages:
    """The advantages of one group; n counts its valid samples."""

    def formula(valid: Sequence[float], stats: GroupStats) -> list[float]:
        n = len(valid)
        return [n / (n - 1) * advantage for advantage in centred(valid, stats)]

    return over_valid(rewards, formula)
