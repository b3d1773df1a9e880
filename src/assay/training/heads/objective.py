"""Losses of heads over a batch, as the trainer takes them: a prediction is the logit at a text's last token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.models.heads import HeadMetrics, binary, bradley_terry, head_metrics

from ..table import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadParts:
    """See ``objective.Parts``."""

    loss: Tensor
    metrics: HeadMetrics


class _Head:
    """What all losses of heads have in common: no log-probs of other models."""

    @property
    def needs_old(self) -> bool:
        return False

    @property
    def needs_reference(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PairObjective(_Head):
    """The mean Bradley-Terry loss over the pairs. Sample 2i is the better text of pair i, sample 2i + 1 the worse one.

    ``margins``: of each pair.
    """

    margins: tuple[float, ...]
    center: float = 0.0

    @property
    def whole_groups(self) -> bool:
        return True

    def weights(self, mask: Tensor, sequence: Tensor) -> Tensor:
        del sequence
        return mask.to(torch.float64) / len(self.margins)

    def loss(self, columns: Columns, logprobs: Tensor, entropy: Tensor) -> HeadParts:
        """``logprobs`` are logits ``[2P]``, a pair after the other (the packing keeps them together)."""
        del entropy
        chosen, rejected = logprobs.view(-1, 2).unbind(1)
        pairs = columns.sequence.view(-1, 2)[:, 0] // 2
        margin = torch.tensor(self.margins, dtype=chosen.dtype, device=chosen.device)[pairs]
        weights = columns.weights.view(-1, 2)[:, 0]
        losses = bradley_terry(chosen, rejected, margin=margin, center=self.center)
        metrics = head_metrics(chosen - rejected, logprobs, weights != 0)
        return HeadParts(loss=(weights * losses).sum(), metrics=metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryObjective(_Head):
    """The mean binary cross-entropy over the texts. ``labels``: of each sample, 0 or 1."""

    labels: tuple[float, ...]

    @property
    def whole_groups(self) -> bool:
        return False

    def weights(self, mask: Tensor, sequence: Tensor) -> Tensor:
        del sequence
        return mask.to(torch.float64) / len(self.labels)

    def loss(self, columns: Columns, logprobs: Tensor, entropy: Tensor) -> HeadParts:
        """``logprobs`` are logits ``[R]``, one of each sample."""
        del entropy
        labels = torch.tensor(self.labels, dtype=logprobs.dtype, device=logprobs.device)[columns.sequence]
        losses = binary(logprobs, labels)
        metrics = head_metrics((2 * labels - 1) * logprobs, logprobs, columns.weights != 0)
        return HeadParts(loss=(columns.weights * losses).sum(), metrics=metrics)
