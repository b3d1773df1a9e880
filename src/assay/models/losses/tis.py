"""Truncated importance sampling: the engine that samples is not the trainer, even with the same weights.

w_t = clip(pi_old(t) / pi_rollout(t), low, high), by which the policy term of each token is multiplied: pi_old are the
trainer's own log-probs before the update, pi_rollout those that the engine returned (F. Yao et al. 2025, "Your
efficient RL framework secretly brings you off-policy RL training"; ``--use-tis`` and ``--tis-clip`` of slime).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .ratio import LOG_RATIO_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class TisWeights:
    """The weight of each token ``[T]``, a constant to the gradient, and where the limits changed it (bool ``[T]``)."""

    weights: Tensor
    truncated: Tensor


@torch.no_grad()
def tis_weights(old_logprobs: Tensor, rollout: Tensor, *, high: float, low: float = 0.0) -> TisWeights:
    """The weights from the trainer's ``old_logprobs [T]`` and the engine's ``rollout [T]``, at the same temperature."""
    raw = (old_logprobs - rollout).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
    return TisWeights(weights=raw.clamp(low, high), truncated=(raw > high) | (raw < low))
