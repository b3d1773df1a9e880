"""The numbers of a trainer's step, by name. Pure."""

from __future__ import annotations

import statistics

from .batch import StepMetrics


def of_update(metrics: StepMetrics) -> dict[str, float]:
    """What the trainer did: means over the updates of the step, and its seconds by phase."""
    updates = metrics.updates
    found = {
        "train/loss": metrics.loss,
        "train/grad_norm": statistics.fmean(u.grad_norm for u in updates),
        "train/lr": updates[-1].lr,
        "train/updates": float(len(updates)),
        "train/skipped_updates": float(sum(not u.applied for u in updates)),
        "train/loss_tokens": float(sum(u.loss_tokens for u in updates)),
    }
    for name in dict.fromkeys(name for update in updates for name in update.terms):
        found[f"train/{name}"] = statistics.fmean(u.terms[name] for u in updates if name in u.terms)
    return found | {f"time/train_{name}": seconds for name, seconds in metrics.seconds.items()}
