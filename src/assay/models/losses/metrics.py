"""What a person wants to see of a loss: sums over tokens, so that the parts of a batch add up to the batch's means.

Numbers stay on the device as 0-d tensors until ``means``, so that a micro-batch costs no synchronisation. A quantity
that was not computed is None and is not shown: never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from .clip import Surrogate
from .segments import kept
from .tis import TisWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class LossMetrics:
    """Sums over the trained tokens of one part of a batch; ``a + b`` is the record of both parts together."""

    tokens: Tensor
    policy: Tensor
    """The policy term of the loss, weighted as in it; adds up to the global batch's."""
    clipped_low: Tensor
    clipped_high: Tensor
    clipped_dual: Tensor
    approx_kl: Tensor
    """ln pi_old - ln pi: how far this batch has moved the policy."""
    ratio: Tensor
    ratio_max: Tensor
    """The largest ratio; the larger one when two records are added."""
    kl: Tensor | None = None
    """The estimate of KL(pi || reference)."""
    entropy: Tensor | None = None
    tis: Tensor | None = None
    tis_clipped: Tensor | None = None
    rollout_gap: Tensor | None = None
    """|ln pi_old - ln pi_rollout|: what separates the trainer from the engine that sampled."""

    def __add__(self, other: LossMetrics) -> LossMetrics:
        joined: dict[str, Tensor | None] = {}
        for field in fields(self):
            mine: Tensor | None = getattr(self, field.name)
            theirs: Tensor | None = getattr(other, field.name)
            if mine is None or theirs is None:
                if mine is not theirs:
                    raise ValueError(f"{field.name} was computed for one part of the batch and not for the other")
                joined[field.name] = None
            else:
                joined[field.name] = torch.maximum(mine, theirs) if field.name == "ratio_max" else mine + theirs
        return LossMetrics(**joined)  # pyright: ignore[reportArgumentType]

    def means(self) -> dict[str, float]:
        """What to log: means over the tokens, the largest ratio, the policy term. Empty when no token was trained."""
        tokens = float(self.tokens)
        if tokens == 0:
            return {}
        sums = {
            "clip_fraction": self.clipped_low + self.clipped_high + self.clipped_dual,
            "clip_fraction_low": self.clipped_low,
            "clip_fraction_high": self.clipped_high,
            "clip_fraction_dual": self.clipped_dual,
            "approx_kl": self.approx_kl,
            "ratio_mean": self.ratio,
            "kl": self.kl,
            "entropy": self.entropy,
            "tis_mean": self.tis,
            "tis_clip_fraction": self.tis_clipped,
            "rollout_gap": self.rollout_gap,
        }
        shown = {name: float(value) / tokens for name, value in sums.items() if value is not None}
        return {"policy_loss": float(self.policy), **shown, "ratio_max": float(self.ratio_max)}


@torch.no_grad()
def measure(
    live: Tensor,
    *,
    policy: Tensor,
    log_ratio: Tensor,
    ratio: Tensor,
    surrogate: Surrogate,
    kl: Tensor | None,
    entropy: Tensor | None,
    tis: TisWeights | None,
    rollout_gap: Tensor | None,
) -> LossMetrics:
    """The record of one part; tensors are ``[T]``, but ``policy``, the term's weighted sum. ``live``: its tokens."""

    def total(values: Tensor | None) -> Tensor | None:
        return None if values is None else _sum(values, live)

    return LossMetrics(
        tokens=live.sum(),
        policy=policy.detach(),
        clipped_low=_sum(surrogate.held_low, live),
        clipped_high=_sum(surrogate.held_high, live),
        clipped_dual=_sum(surrogate.held_dual, live),
        approx_kl=_sum(-log_ratio, live),
        ratio=_sum(ratio, live),
        ratio_max=kept(ratio, live).amax() if live.numel() else ratio.new_zeros(()),
        kl=total(kl),
        entropy=total(entropy),
        tis=None if tis is None else _sum(tis.weights, live),
        tis_clipped=None if tis is None else _sum(tis.truncated, live),
        rollout_gap=None if rollout_gap is None else _sum(rollout_gap.abs(), live),
    )


def _sum(values: Tensor, live: Tensor) -> Tensor:
    return kept(values, live).detach().sum()
