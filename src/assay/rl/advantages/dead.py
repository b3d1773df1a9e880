"""Which groups are worth training on: the filter of dynamic sampling (DAPO, arXiv 2503.14476, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from .group import Reward, group_stats


class Fate(StrEnum):
    """What becomes of a group."""

    LIVE = "live"
    DEAD = "dead"
    """All valid rewards equal: no advantage, whatever the estimator that compares within groups."""
    LEFT_OUT = "left_out"
    """Fewer than two valid rewards."""


def fate(rewards: Sequence[Reward]) -> Fate:
    """Judged by the deviation, not by the mean, so that rewards of any scale are told apart."""
    stats = group_stats(rewards)
    if stats.valid < 2:
        return Fate.LEFT_OUT
    return Fate.DEAD if stats.dead else Fate.LIVE
