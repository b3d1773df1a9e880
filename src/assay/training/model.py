"""A causal language model as the trainer sees it: packed micro-batch in, log-probs and entropies of its tokens out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from assay.engines.embedded.attention import PLAN, Plan
from assay.models.logprobs import hidden_logprobs, token_logprobs

from .attention import plan_for
from .batch import TrainSequence
from .packing import Row, pack

_KEPT_LOGITS = 1 << 30
"""Most bytes of logits that are kept for the backward pass; above, they are computed a second time, in chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """``packing.Packed`` on a device."""

    tokens: Tensor
    """``[1, T]``"""
    positions: Tensor
    """``[1, T]``"""
    plan: Plan
    predict: Tensor
    """``[R]``: the packed token whose state predicts."""
    targets: Tensor
    """``[R]``"""
    samples: list[int]
    """``[R]``: the sample of each predicted token, and its place in the response."""
    offsets: list[int]

    @classmethod
    def of(
        cls, rows: Sequence[Row], sequences: Sequence[TrainSequence], device: torch.device, *, masked: bool
    ) -> MicroBatch:
        packed = pack(rows, sequences, masked=masked)
        return cls(
            tokens=torch.tensor([packed.tokens], device=device),
            positions=torch.tensor([packed.positions], device=device),
            plan=plan_for(packed.segments, device),
            predict=torch.tensor(packed.predict, dtype=torch.long, device=device),
            targets=torch.tensor(packed.targets, dtype=torch.long, device=device),
            samples=packed.samples,
            offsets=packed.offsets,
        )


class TokenModel(nn.Module):
    """Wraps a transformers model that already uses packed attention (``policy.packed``).

    The output layer runs inside this forward pass, so that FSDP has its weights gathered when they are used.
    """

    def __init__(self, lm: Any, *, temperature: float = 1.0) -> None:
        super().__init__()
        self.lm = lm
        self._temperature = temperature

    def forward(self, micro: MicroBatch) -> tuple[Tensor, Tensor]:
        """ln P of the predicted tokens and the entropies (nats) of their distributions, both ``[R]``.

        A tuple: FSDP finds the tensors in it, and so knows where the backward pass begins.
        """
        states: Tensor = self.lm.base_model(
            input_ids=micro.tokens, position_ids=micro.positions, use_cache=False, **{PLAN: micro.plan}
        ).last_hidden_state[0]
        states = states[micro.predict]
        head = cast("nn.Module", self.lm.get_output_embeddings())
        size = states.shape[0] * cast("Tensor", self.lm.get_input_embeddings().weight).shape[0] * states.element_size()
        if not torch.is_grad_enabled() or size > _KEPT_LOGITS:
            read = hidden_logprobs(states, head, micro.targets, temperature=self._temperature)
        else:
            read = token_logprobs(head(states), micro.targets, temperature=self._temperature)
        return read.logprobs, read.entropy
