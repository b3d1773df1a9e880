"""REINFORCE++ (arXiv 2501.03262): the whole batch is the baseline, not the group.

Every token of a sample has the sample's reward as its return, less what it pays in KL from there on; the returns of all
tokens of the batch are then whitened. The ``baseline`` variant first takes the group's mean off the rewards.

``reinforce_plus_plus`` is the case without KL, where the tokens of a sample are all alike and one number per sample
is enough. ``reinforce_plus_plus_tokens`` has the KL in the reward (``--kl-coef``) and a number per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from .dr_grpo import centred
from .group import GroupAdvantages, GroupStats, Reward, over_valid
from .grpo import EPS
from .kl_reward import returns_to_go
from .spread import Std
from .whiten import whiten

TokenAdvantages: TypeAlias = "tuple[tuple[float, ...] | None, ...]"
"""For each sample of a group, a number per trained token; None where the sample has no advantage."""


def reinforce_plus_plus(
    groups: Sequence[Sequence[Reward]],
    lengths: Sequence[Sequence[int]],
    *,
    baseline: bool = False,
    std: Std = "population",
    eps: float = EPS,
) -> tuple[GroupAdvantages, ...]:
    """The advantages of a batch; ``lengths`` are the trained tokens of each sample, by which it counts in the moments.

    Without ``baseline`` a group may have a single valid sample, for nothing is compared within groups.
    """
    found = [_scores(rewards, baseline) for rewards in groups]
    places = _places(found)
    raw = [score for _, _, score in places]
    white = whiten(raw, [lengths[g][i] for g, i, _ in places], std=std, eps=eps)
    table = {(g, i): value for (g, i, _), value in zip(places, white, strict=True)}
    return tuple(
        replace(one, advantages=tuple(table.get((g, i)) for i in range(len(one.advantages))))
        for g, one in enumerate(found)
    )


def reinforce_plus_plus_tokens(
    groups: Sequence[Sequence[Reward]],
    kl: Sequence[Sequence[Sequence[float]]],
    *,
    kl_coef: float,
    gamma: float = 1.0,
    baseline: bool = False,
    std: Std = "population",
    eps: float = EPS,
) -> tuple[tuple[GroupAdvantages, ...], tuple[TokenAdvantages, ...]]:
    """Advantages per token; ``kl[group][sample]`` is the KL estimate at each trained token of the sample.

    The first result holds reasons and statistics of the groups, with the scores (before KL and whitening) of samples.
    """
    found = [_scores(rewards, baseline) for rewards in groups]
    places = _places(found)
    returns = [returns_to_go(score, kl[g][i], kl_coef=kl_coef, gamma=gamma) for g, i, score in places]
    flat = [value for one in returns for value in one]
    white = iter(whiten(flat, [1.0] * len(flat), std=std, eps=eps))
    table = {(g, i): tuple(next(white) for _ in one) for (g, i, _), one in zip(places, returns, strict=True)}
    tokens = tuple(tuple(table.get((g, i)) for i in range(len(one.advantages))) for g, one in enumerate(found))
    return tuple(found), tokens


def _scores(rewards: Sequence[Reward], baseline: bool) -> GroupAdvantages:
    return over_valid(rewards, centred) if baseline else over_valid(rewards, _as_they_are, least=1)


def _as_they_are(valid: Sequence[float], stats: GroupStats) -> Sequence[float]:  # noqa: ARG001
    return valid


def _places(groups: Sequence[GroupAdvantages]) -> list[tuple[int, int, float]]:
    """Group, sample and score of every sample that has one."""
    return [
        (g, i, score) for g, one in enumerate(groups) for i, score in enumerate(one.advantages) if score is not None
    ]
