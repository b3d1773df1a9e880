"""The KL of the policy to the reference, token by token: the estimator k1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.training.batch import PerToken, TrainSequence

if TYPE_CHECKING:
    from assay.training.trainer import Trainer


def kl_estimates(trainer: Trainer, sequences: Sequence[TrainSequence]) -> list[PerToken]:
    """See ``ports.Trainer.kl``."""
    return differences(sequences, trainer.logprobs(sequences), trainer.logprobs(sequences, which="reference"))


def differences(
    sequences: Sequence[TrainSequence], actor: Sequence[PerToken], reference: Sequence[PerToken]
) -> list[PerToken]:
    """Log-probs of the actor less those of the reference, at the trained tokens."""
    return [
        tuple(a - r for a, r, trained in zip(own, theirs, s.loss_mask, strict=True) if trained)
        for own, theirs, s in zip(actor, reference, sequences, strict=True)
    ]
