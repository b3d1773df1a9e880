"""The words of this package: rewards of a group, its advantages, and why a sample has none.

A group is the samples of one prompt. Advantages are worked out over its valid samples alone; a group with fewer of them
than the estimator needs is left out whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from assay.core.errors import InputError

from .spread import Std, all_equal, mean, standard_deviation


class LeftOut(StrEnum):
    """Why a sample is trained on by no token."""

    JUDGMENT_FAILED = "judgment_failed"
    TRUNCATED = "truncated"
    """The policy's answer was cut off, and such answers are masked."""
    TOO_FEW_VALID = "too_few_valid"
    """It has a reward, but too few of its group do."""


Reward: TypeAlias = "float | LeftOut | None"
"""What a sample earned; None = the judgment failed; or another reason for there being no reward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStats:
    """Of the valid rewards alone."""

    size: int
    valid: int
    mean: float | None
    """None where no sample is valid."""
    std: float | None
    """None where it is not defined (no valid sample; one, for the sample deviation)."""
    dead: bool
    """Two or more valid rewards and all equal: the group says nothing about which answer is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdvantages:
    """The advantage of each sample in the group's order; where it is None, ``reasons`` says why."""

    advantages: tuple[float | None, ...]
    reasons: tuple[LeftOut | None, ...]
    stats: GroupStats

    @property
    def trained(self) -> tuple[bool, ...]:
        """Which samples the loss may look at."""
        return tuple(advantage is not None for advantage in self.advantages)


def valid_rewards(rewards: Sequence[Reward]) -> list[float]:
    """The numbers among the rewards. Raises InputError for NaN and infinities: they are neither reward nor failure."""
    found = [float(reward) for reward in rewards if reward is not None and not isinstance(reward, LeftOut)]
    for reward in found:
        if not math.isfinite(reward):
            raise InputError(f"a reward is {reward!r}: return a finite number, or None where the judgment failed")
    return found


def group_stats(rewards: Sequence[Reward], std: Std = "population") -> GroupStats:
    """The statistics of one group."""
    valid = valid_rewards(rewards)
    return GroupStats(
        size=len(rewards),
        valid=len(valid),
        mean=mean(valid) if valid else None,
        std=standard_deviation(valid, std),
        dead=len(valid) > 1 and all_equal(valid),
    )


def over_valid(
    rewards: Sequence[Reward],
    formula: Callable[[Sequence[float], GroupStats], Sequence[float]],
    *,
    std: Std = "population",
    least: int = 2,
) -> GroupAdvantages:
    """Apply ``formula`` to the valid rewards of a group, if there are ``least`` or more; put its results in place."""
    stats, valid = group_stats(rewards, std), valid_rewards(rewards)
    enough = len(valid) >= least
    found = iter(formula(valid, stats) if enough else ())
    advantages: list[float | None] = []
    reasons: list[LeftOut | None] = []
    for reward in rewards:
        reason = LeftOut.JUDGMENT_FAILED if reward is None else reward if isinstance(reward, LeftOut) else None
        if reason is None and not enough:
            reason = LeftOut.TOO_FEW_VALID
        reasons.append(reason)
        advantages.append(next(found) if reason is None else None)
    return GroupAdvantages(advantages=tuple(advantages), reasons=tuple(reasons), stats=stats)
