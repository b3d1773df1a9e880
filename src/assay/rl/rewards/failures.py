"""What a failed judgment is worth to training (``--judge-failure-as``). Pure; the answer is never silent.

``mask``: the sample is in no mean, no deviation and no loss. ``zero``: the seeds' behaviour, a reward of 0.0, said once
in the log. ``raise``: the run stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from assay.core.errors import TrainingStopped

from ..advantages.group import Reward as Worth
from ..sample import Group, Sample, Status

JudgeFailureAs: TypeAlias = Literal["mask", "zero", "raise"]

DUMMY = "dummy"
"""The judge of a reward that nobody gave (``--rm-type dummy``)."""


def judged(sample: Sample) -> bool:
    """Whether a judge judged it; an answer that the rollout never gave, or a dummy's reward, is nobody's judgment."""
    return sample.status is not Status.FAILED and sample.reward is not None and sample.reward.judge != DUMMY


def failed(sample: Sample) -> bool:
    """Whether the judgment of an answer that is there failed."""
    return judged(sample) and sample.reward is not None and sample.reward.failure is not None


def settle(group: Group, how: JudgeFailureAs) -> list[Worth]:
    """The rewards of a group, one per sample; None where there is none.

    Raises:
        TrainingStopped: a judgment failed and ``how`` is ``raise``.
    """
    return [_worth(sample, how) for sample in group.samples]


def failure_rate(groups: Sequence[Group]) -> float | None:
    """The share of failed judgments among those that were made; None where none was."""
    samples = [sample for group in groups for sample in group.samples if judged(sample)]
    return sum(map(failed, samples)) / len(samples) if samples else None


def _worth(sample: Sample, how: JudgeFailureAs) -> Worth:
    if sample.reward is None or sample.status is Status.FAILED:
        return None
    failure = sample.reward.failure
    if failure is None:
        return sample.reward.value
    if how == "raise":
        raise TrainingStopped(
            f"the judgment of sample {sample.group_index}/{sample.index} failed ({failure.kind}: {failure.detail}), "
            "and --judge-failure-as is 'raise'; use 'mask' to train on the others"
        )
    return 0.0 if how == "zero" else None
