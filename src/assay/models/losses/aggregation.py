"""How the losses of tokens become one number: a weight per token, fixed for the whole global batch.

The loss is ``sum_t w_t * l_t``. The weights know the totals of the global batch, so the sum is the same however the
batch is cut into micro-batches and ranks: no part is ever averaged on its own.

| mode | w_t | known as |
|---|---|---|
| ``token_mean`` | 1 / tokens | DAPO (arXiv 2503.14476), verl ``token-mean`` |
| ``sequence_mean`` | 1 / (samples * tokens of the sample) | GRPO (arXiv 2402.03300), verl ``seq-mean-token-mean`` |
| ``sequence_sum`` | 1 / samples | verl ``seq-mean-token-sum`` |
| ``constant`` | 1 / (samples * max_length) | Dr. GRPO (arXiv 2503.20783) |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from assay.core.errors import InputError

from .segments import segment_sum

Aggregation: TypeAlias = Literal["token_mean", "sequence_mean", "sequence_sum", "constant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a global batch holds: trained tokens, and samples with at least one of them. Adds up over ranks."""

    tokens: int
    samples: int

    def __add__(self, other: Totals) -> Totals:
        return Totals(tokens=self.tokens + other.tokens, samples=self.samples + other.samples)


def count(mask: Tensor, sequence: Tensor) -> Totals:
    """The totals of this part of the batch: ``mask [T]`` (bool) says which tokens are trained on."""
    lengths = segment_sum(mask.bool().long(), sequence)
    return Totals(tokens=int(lengths.sum()), samples=int((lengths > 0).sum()))


def token_weights(
    mode: Aggregation,
    mask: Tensor,
    sequence: Tensor,
    *,
    totals: Totals | None = None,
    max_length: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """The weight of each token ``[T]``; 0 outside ``mask [T]`` (bool or 0/1).

    ``totals``: those of the global batch (the sum of ``count`` over its parts); absent, this is all of it. A sample
    whose tokens are all masked (its judgment failed) is in no total, so it does not dilute the others; to count it
    nevertheless, say so in ``totals``. ``max_length``: the tokens that mode ``constant`` divides by, usually the
    longest response allowed. Raises InputError where ``constant`` has no such number.
    """
    live = mask.bool()
    totals = count(live, sequence) if totals is None else totals
    samples, tokens = max(totals.samples, 1), max(totals.tokens, 1)
    kept = live.to(dtype)
    if mode == "token_mean":
        return kept / tokens
    if mode == "sequence_mean":
        lengths = segment_sum(kept, sequence).clamp(min=1)
        return kept / (samples * lengths[sequence])
    if mode == "sequence_sum":
        return kept / samples
    if max_length is None or max_length <= 0:
        raise InputError(f"aggregation 'constant' divides by max_length, got {max_length!r}: give the response limit")
    return kept / (samples * max_length)
