"""Which groups are worth training on: the filter of dynamic sampling (DAPO, arXiv 2503.14476, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from .group import Reward, group_stats


class Fate(StrEnum):
    """What becomes of a group."""

    LIVE = "live"
    DEAD = "dead"
    """All valid rewards equal: no advantage, whatever the estimator that compares within groups."""
    LEFT_OUT = "left_out"
    """Fewer than two valid rewards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Indices of groups, each in the order given: those to train on, and what became of the rest."""

    kept: tuple[int, ...]
    spare: tuple[int, ...]
    """Live, but more than were wanted."""
    dead: tuple[int, ...]
    left_out: tuple[int, ...]
    missing: int
    """How many more live groups are needed."""


def fate(rewards: Sequence[Reward]) -> Fate:
    """Judged by the deviation, not by the mean, so that rewards of any scale are told apart."""
    stats = group_stats(rewards)
    if stats.valid < 2:
        return Fate.LEFT_OUT
    return Fate.DEAD if stats.dead else Fate.LIVE


def choose_live(groups: Sequence[Sequence[Reward]], wanted: int) -> Chosen:
    """The first ``wanted`` live groups."""
    fates = [fate(rewards) for rewards in groups]
    live = [index for index, one in enumerate(fates) if one is Fate.LIVE]
    return Chosen(
        kept=tuple(live[:wanted]),
        spare=tuple(live[wanted:]),
        dead=tuple(index for index, one in enumerate(fates) if one is Fate.DEAD),
        left_out=tuple(index for index, one in enumerate(fates) if one is Fate.LEFT_OUT),
        missing=max(wanted - len(live), 0),
    )
