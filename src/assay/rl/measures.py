"""The numbers of a step, by name. Pure.

``reward/…``, ``rollout/…``, ``advantage/…`` and ``train/…`` follow from data and seeds; ``time/…`` (seconds) and
``memory/…`` (bytes) tell of the machine.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from .advantages.summary import summarise
from .batching import Batched
from .length_bias import length_correlation
from .ports import RolloutBatch
from .residency import Moved
from .rewards.failures import failure_rate
from .sample import Sample, Status


def of_batch(batch: RolloutBatch, batched: Batched) -> dict[str, float]:
    """What was rolled out and earned."""
    samples = [sample for group in batch.groups for sample in group.samples]
    found = {f"rollout/{name}": value for name, value in batch.stats.items()}
    found |= {"rollout/samples": float(len(samples)), "rollout/filtered_groups": float(len(batch.filtered))}
    found |= _lengths(samples)
    found |= {f"advantage/{name}": value for name, value in summarise(batched.groups).means().items()}
    values = [s.reward.value for s in samples if s.reward is not None and s.reward.value is not None]
    if values:
        found |= {"reward/mean": statistics.fmean(values), "reward/std": statistics.pstdev(values)}
    bias = length_correlation(batch.groups)
    if bias is not None:
        found["reward/length_correlation"] = bias
    rate = failure_rate(batch.groups)
    if rate is not None:
        found["reward/failed"] = rate
    kinds = Counter(str(s.reward.failure.kind) for s in samples if s.reward is not None and s.reward.failure)
    return found | {f"reward/failed_{kind}": count / len(samples) for kind, count in kinds.items()}


def of_moves(moved: Sequence[Moved], known: Mapping[str, float]) -> dict[str, float]:
    """Seconds and bytes of those that went to sleep or woke, added to what is ``known`` of the step."""
    found: dict[str, float] = {}
    for one in moved:
        role, kind = one.move.role, one.move.kind
        for name, value in ((f"time/{kind}/{role}", one.seconds), (f"memory/{kind}/{role}", float(one.bytes))):
            found[name] = found.get(name, known.get(name, 0.0)) + value
    return found


def _lengths(samples: Sequence[Sample]) -> dict[str, float]:
    answered = [sample for sample in samples if sample.status is not Status.FAILED]
    found = {"rollout/failed": (len(samples) - len(answered)) / len(samples)} if samples else {}
    if answered:
        found |= {
            "rollout/response_length": statistics.fmean(s.response_length for s in answered),
            "rollout/truncated": sum(s.truncated for s in answered) / len(answered),
        }
    return found
