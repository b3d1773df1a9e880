"""What a step minimises: weights for the tokens of a whole update, and the loss of a part of them.

The trainer knows no loss; it gives an objective the columns of a micro-batch and calls ``backward`` on what it gets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import torch
from torch import Tensor

from assay.models.losses.aggregation import Aggregation, token_weights
from assay.models.losses.config import PolicyLossConfig
from assay.models.losses.policy import LossParts, policy_loss

from .table import Columns


class Metrics(Protocol):
    """A dataclass of 0-d tensors (or None), to be added up over the parts of an update."""

    def __add__(self, other: Self, /) -> Self: ...

    def means(self) -> dict[str, float]: ...


class Parts(Protocol):
    """The loss of one part, and what to log of it."""

    @property
    def loss(self) -> Tensor: ...

    @property
    def metrics(self) -> Metrics: ...


class Objective(Protocol):
    """A loss that is a weighted sum over tokens, with weights fixed for a whole update."""

    @property
    def needs_old(self) -> bool:
        """Whether log-probs from before the step are needed."""
        ...

    @property
    def needs_reference(self) -> bool: ...

    @property
    def whole_groups(self) -> bool:
        """Whether the samples of a group, which share their prompt, must be in one micro-batch."""
        ...

    def weights(self, mask: Tensor, sequence: Tensor) -> Tensor:
        """The weight of each token ``[N]`` of the update."""
        ...

    def loss(self, columns: Columns, logprobs: Tensor, entropy: Tensor) -> Parts:
        """Of one micro-batch; all ``[R]``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyObjective:
    """The policy loss of ``models.losses``."""

    config: PolicyLossConfig = field(default_factory=PolicyLossConfig)
    aggregation: Aggregation = "token_mean"
    max_length: int | None = None
    """The tokens that aggregation ``constant`` divides by."""

    @property
    def needs_old(self) -> bool:
        return True

    @property
    def needs_reference(self) -> bool:
        return self.config.use_kl_loss

    @property
    def whole_groups(self) -> bool:
        return False

    def weights(self, mask: Tensor, sequence: Tensor) -> Tensor:
        # Double precision: sums over a large batch are later compared across cuts of it.
        return token_weights(self.aggregation, mask, sequence, max_length=self.max_length, dtype=torch.float64)

    def loss(self, columns: Columns, logprobs: Tensor, entropy: Tensor) -> LossParts:
        return policy_loss(
            logprobs,
            logprobs.detach() if columns.old is None else columns.old,
            columns.advantages,
            columns.weights,
            columns.sequence,
            reference=columns.reference,
            rollout=columns.rollout,
            entropy=entropy,
            config=self.config,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NllMetrics:
    """Sums over the trained tokens."""

    tokens: Tensor
    nll: Tensor
    entropy: Tensor

    def __add__(self, other: NllMetrics) -> NllMetrics:
        return NllMetrics(
            tokens=self.tokens + other.tokens, nll=self.nll + other.nll, entropy=self.entropy + other.entropy
        )

    def means(self) -> dict[str, float]:
        tokens = max(1.0, float(self.tokens))
        return {"nll": float(self.nll) / tokens, "entropy": float(self.entropy) / tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class NllParts:
    """See ``Parts``."""

    loss: Tensor
    metrics: NllMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class NllObjective:
    """Fine-tuning on given responses: the mean negative log-likelihood of their tokens (nats)."""

    aggregation: Aggregation = "token_mean"

    @property
    def needs_old(self) -> bool:
        return False

    @property
    def needs_reference(self) -> bool:
        return False

    @property
    def whole_groups(self) -> bool:
        return False

    def weights(self, mask: Tensor, sequence: Tensor) -> Tensor:
        return token_weights(self.aggregation, mask, sequence, dtype=torch.float64)

    def loss(self, columns: Columns, logprobs: Tensor, entropy: Tensor) -> NllParts:
        live = (columns.weights != 0).to(logprobs.dtype)
        metrics = NllMetrics(
            tokens=live.sum(), nll=-(live * logprobs).sum().detach(), entropy=(live * entropy).sum().detach()
        )
        return NllParts(loss=-(columns.weights * logprobs).sum(), metrics=metrics)
