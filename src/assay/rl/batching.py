"""From judged groups to what the trainer trains on. Pure.

Owns: which samples are trained on, with which advantage. Does not own: the advantages (``advantages``), what a failed
judgment is worth (``rewards``), the loss (``models.losses``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.training.batch import PerToken, TrainBatch, TrainSequence

from .advantages.estimators import AdvantageConfig, estimate
from .advantages.group import GroupAdvantages, Reward
from .advantages.kl_reward import kl_penalised
from .advantages.overlong import OverlongShaping
from .advantages.truncated import TruncatedAs, settle_truncated
from .sample import Group, Sample, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingConfig:
    """How rewards become advantages."""

    advantages: AdvantageConfig = field(default_factory=AdvantageConfig)
    truncated_as: TruncatedAs = "keep"
    overlong: OverlongShaping | None = None
    kl_coef: float = 0.0
    """Weight of the KL to the reference in the reward; 0 leaves it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched:
    """``groups``: the advantages, in the order of the groups. ``batch``: None where there is nothing to learn from."""

    groups: tuple[GroupAdvantages, ...]
    batch: TrainBatch | None


def trainable(sample: Sample) -> bool:
    """Whether the sample has tokens that the policy wrote to its end; aborted and failed ones have not."""
    return sample.status in (Status.COMPLETED, Status.TRUNCATED) and any(sample.loss_mask)


def shaped(group: Group, rewards: Sequence[Reward], config: BatchingConfig) -> list[Reward]:
    """The rewards of a group after what becomes of cut-off and overlong answers; samples without tokens have none."""
    given = [reward if trainable(sample) else None for sample, reward in zip(group.samples, rewards, strict=True)]
    settled = settle_truncated(given, [sample.truncated for sample in group.samples], config.truncated_as)
    if config.overlong is None:
        return settled
    return config.overlong.shaped(settled, [sample.response_length for sample in group.samples])


def to_batch(
    groups: Sequence[Group],
    rewards: Sequence[Sequence[Reward]],
    config: BatchingConfig,
    kl: Sequence[Sequence[PerToken]] | None = None,
) -> Batched:
    """The training batch.

    Args:
        rewards: ``rewards[group][sample]``, failures settled; None and ``LeftOut`` are in no mean and no loss.
        kl: estimates at the trained tokens of every sample, needed where ``config.kl_coef`` is not 0.
    """
    settled = [shaped(group, own, config) for group, own in zip(groups, rewards, strict=True)]
    if kl is not None and config.kl_coef:
        settled = [kl_penalised(own, tokens, config.kl_coef) for own, tokens in zip(settled, kl, strict=True)]
    lengths = [[sum(sample.loss_mask) for sample in group.samples] for group in groups]
    advantages = estimate(settled, lengths, config.advantages)
    sequences = [
        to_sequence(sample, advantage)
        for group, own in zip(groups, advantages, strict=True)
        for sample, advantage in zip(group.samples, own.advantages, strict=True)
        if advantage is not None and trainable(sample)
    ]
    return Batched(groups=advantages, batch=TrainBatch(sequences=tuple(sequences)) if sequences else None)


def to_sequence(sample: Sample, advantage: float = 0.0) -> TrainSequence:
    """The sample as the trainer takes it."""
    return TrainSequence(
        prompt_ids=sample.prompt_ids,
        response_ids=sample.response_ids,
        loss_mask=sample.loss_mask,
        advantage=advantage,
        rollout_logprobs=sample.rollout_log_probs or None,
        group=sample.group_index,
        weight_version=sample.weight_versions[0] if sample.weight_versions else "",
    )
