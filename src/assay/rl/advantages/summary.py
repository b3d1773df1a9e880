"""What a person wants to see of a batch's advantages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .group import GroupAdvantages, LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvantageSummary:
    """Counts of samples and groups."""

    samples: int
    trained: int
    left_out: Mapping[LeftOut, int]
    """Samples without an advantage, by reason; only reasons that occurred."""
    groups: int
    groups_dead: int
    groups_left_out: int
    reward_mean: float | None
    """Over all valid samples; None where there is none."""

    def means(self) -> dict[str, float]:
        """What to log: shares of samples and groups, and the mean reward. Empty for an empty batch."""
        if not self.samples:
            return {}
        shown = {f"left_out_{reason.value}": count / self.samples for reason, count in self.left_out.items()}
        shown["trained"] = self.trained / self.samples
        shown["groups_dead"] = self.groups_dead / self.groups
        shown["groups_left_out"] = self.groups_left_out / self.groups
        return shown if self.reward_mean is None else {"reward_mean": self.reward_mean, **shown}


def summarise(groups: Sequence[GroupAdvantages]) -> AdvantageSummary:
    """The record of one batch."""
    valid = sum(group.stats.valid for group in groups)
    total = math.fsum(group.stats.mean * group.stats.valid for group in groups if group.stats.mean is not None)
    return AdvantageSummary(
        samples=sum(group.stats.size for group in groups),
        trained=sum(sum(group.trained) for group in groups),
        left_out=Counter(reason for group in groups for reason in group.reasons if reason is not None),
        groups=len(groups),
        groups_dead=sum(group.stats.dead for group in groups),
        groups_left_out=sum(not any(group.trained) for group in groups),
        reward_mean=total / valid if valid else None,
    )
