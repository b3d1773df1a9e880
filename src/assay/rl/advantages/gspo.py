"""GSPO (arXiv 2507.18071): GRPO's advantages; what differs is the importance ratio of the loss, one per sample."""

from __future__ import annotations

from collections.abc import Sequence

from .group import GroupAdvantages, Reward
from .grpo import EPS, grpo
from .spread import Std


def gspo(rewards: Sequence[Reward], *, std: Std = "population", eps: float = EPS) -> GroupAdvantages:
    """The advantages of one group."""
    return grpo(rewards, std=std, eps=eps)
