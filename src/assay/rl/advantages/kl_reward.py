"""The KL to the reference inside the reward (``--kl-coef``), instead of in the loss."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .group import LeftOut, Reward


def kl_penalised(rewards: Sequence[Reward], kl: Sequence[Sequence[float]], kl_coef: float) -> list[Reward]:
    """r_i - coef * sum_t kl_t for one group, before its advantages; a reward that is not there stays away.

    ``kl[i]`` is the estimate at each trained token of sample i (``k1`` is the unbiased one whose sum is the sample's
    log ratio). For the estimators of a number per sample; REINFORCE++ spreads it over the tokens.
    """
    return [
        reward if reward is None or isinstance(reward, LeftOut) else reward - kl_coef * math.fsum(own)
        for reward, own in zip(rewards, kl, strict=True)
    ]


def returns_to_go(reward: float, kl: Sequence[float], *, kl_coef: float, gamma: float = 1.0) -> list[float]:
    """The discounted return of each token, where token t earns -coef * kl_t and the last one the reward as well."""
    total, backwards = 0.0, list[float]()
    for place in range(len(kl) - 1, -1, -1):
        earned = -kl_coef * kl[place] + (reward if place == len(kl) - 1 else 0.0)
        total = earned + gamma * total
        backwards.append(total)
    return backwards[::-1]
