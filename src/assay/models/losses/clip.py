"""PPO's clipped surrogate: how far one batch may move the policy, by token.

l = -min(r A, clip(r, 1 - low, 1 + high) A)   (PPO, arXiv 1707.06347; a higher ``high``: DAPO, arXiv 2503.14476).
Dual clip (arXiv 1912.09729): where A < 0 the loss is at most -c A, since r has no upper bound there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogate:
    """The loss of each token ``[T]`` and which tokens the clip holds, so that they give no gradient (bool ``[T]``)."""

    loss: Tensor
    held_low: Tensor
    """r < 1 - low with A < 0: the token was made rare enough."""
    held_high: Tensor
    """r > 1 + high with A > 0: the token was made likely enough."""
    held_dual: Tensor
    """r > c with A < 0, where there is a dual clip."""


def clipped_surrogate(
    ratio: Tensor, advantages: Tensor, *, low: float, high: float, dual: float | None = None
) -> Surrogate:
    """The surrogate of ``ratio [T]`` and ``advantages [T]`` under the three limits."""
    loss = torch.maximum(-ratio * advantages, -ratio.clamp(1 - low, 1 + high) * advantages)
    negative = advantages < 0
    held_dual = torch.zeros_like(negative)
    if dual is not None:
        held_dual = negative & (ratio > dual)
        loss = torch.where(negative, torch.minimum(loss, -dual * advantages), loss)
    return Surrogate(
        loss=loss,
        held_low=negative & (ratio < 1 - low),
        held_high=(advantages > 0) & (ratio > 1 + high),
        held_dual=held_dual,
    )
