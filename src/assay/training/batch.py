"""What the trainer trains on, and what it says about a step. No torch here.

Owns: the records and their checks. Does not own: where samples come from, or what their advantages mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from assay.core.errors import InputError

PerToken: TypeAlias = "tuple[float, ...]"
"""One number per response token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSequence:
    """One sample of the policy: a prompt, and the response tokens that followed it.

    Log-probs are natural logs, one per response token. Those that are None the trainer computes where a loss needs
    them, except ``rollout_logprobs``: only the engine that sampled can know them.
    """

    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    loss_mask: tuple[bool, ...]
    """Per response token: False for what the policy did not write (tool output, the user's next turn)."""
    advantage: float | PerToken = 0.0
    """One for the whole response, or one per response token."""
    rollout_logprobs: PerToken | None = None
    old_logprobs: PerToken | None = None
    """Of the policy that the importance ratio is taken against; None: the policy as the step begins."""
    reference_logprobs: PerToken | None = None
    group: int = 0
    """Samples of one question share it. Prompts are shared by their tokens, whatever the group."""
    weight_version: str = ""
    """The weights that wrote the response."""

    def __post_init__(self) -> None:
        if not self.prompt_ids:
            raise InputError("a training sequence has an empty prompt: nothing predicts its first response token")
        if not self.response_ids:
            raise InputError("a training sequence has an empty response: leave such samples out")
        for name, values in {"loss_mask": self.loss_mask, **self._per_token()}.items():
            if len(values) != len(self.response_ids):
                told = f"{len(values)} entries for {len(self.response_ids)} response tokens"
                raise InputError(f"{name} of a training sequence has {told}")
        for name, values in self._per_token().items():
            if not all(math.isfinite(value) for value in values):
                raise InputError(f"{name} of a training sequence holds a number that is not finite")
        if isinstance(self.advantage, int | float) and not math.isfinite(self.advantage):
            raise InputError(f"a training sequence has advantage {self.advantage!r}; leave failed samples out")

    def advantages(self) -> Sequence[float]:
        """One per response token."""
        given = self.advantage
        return given if isinstance(given, tuple) else (given,) * len(self.response_ids)

    def _per_token(self) -> dict[str, Sequence[float]]:
        given: dict[str, Sequence[float] | None] = {
            "advantage": self.advantage if isinstance(self.advantage, tuple) else None,
            "rollout_logprobs": self.rollout_logprobs,
            "old_logprobs": self.old_logprobs,
            "reference_logprobs": self.reference_logprobs,
        }
        return {name: values for name, values in given.items() if values is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainBatch:
    """The samples of one rollout batch, group after group. Every rank is given the whole batch."""

    sequences: tuple[TrainSequence, ...]

    def __post_init__(self) -> None:
        if not any(any(s.loss_mask) for s in self.sequences):
            raise InputError(f"a training batch of {len(self.sequences)} sequences has no token to learn from")

    def updates(self, size: int | None) -> list[tuple[TrainSequence, ...]]:
        """The batch cut into as many updates as come nearest to ``size`` samples each; None: one update.

        The parts differ by one sample at most, so samples that were left out (failed judgments) thin all of them.
        """
        total = len(self.sequences)
        count = 1 if size is None else min(total, max(1, round(total / size)))
        cuts = [total * i // count for i in range(count + 1)]
        return [self.sequences[a:b] for a, b in pairwise(cuts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetrics:
    """One optimizer update."""

    loss: float
    grad_norm: float
    """Of the gradient over all trained weights, before clipping."""
    lr: float
    samples: int
    loss_tokens: int
    """Tokens that the loss is over."""
    packed_tokens: int
    """Tokens that went through the model, prompts counted as often as they were computed."""
    micro_batches: int
    """On all ranks together."""
    applied: bool
    """False: the gradient was not finite, and the weights were left as they were."""
    terms: Mapping[str, float] = field(default_factory=dict[str, float])
    """What the loss says about itself: KL, clip share, entropy, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMetrics:
    """One call of ``Trainer.step``: its updates, and seconds by phase."""

    step: int
    """Updates applied since training began."""
    weight_version: str
    updates: tuple[UpdateMetrics, ...]
    seconds: Mapping[str, float]
    """``old_logprobs``, ``reference``, ``forward``, ``backward``, ``optimizer``."""

    @property
    def loss(self) -> float:
        return math.fsum(u.loss for u in self.updates) / len(self.updates)
