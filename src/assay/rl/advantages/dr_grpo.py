"""Dr. GRPO (arXiv 2503.20783): no division by the deviation, which favours prompts that are almost solved or hopeless.

A_i = r_i - mean(r). Its loss divides by a constant length, so that long wrong answers are not cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

from .group import GroupAdvantages, GroupStats, Reward, over_valid


def dr_grpo(rewards: Sequence[Reward]) -> GroupAdvantages:
    """The advantages of one group."""
    return over_valid(rewards, centred)


def centred(valid: Sequence[float], stats: GroupStats) -> list[float]:
    """Each reward less the mean of its group; exactly 0 for a dead one."""
    if stats.dead or stats.mean is None:
        return [0.0] * len(valid)
    return [reward - stats.mean for reward in valid]
