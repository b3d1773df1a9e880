"""Sums and means over the samples of the packed layout."""

from __future__ import annotations

import torch
from torch import Tensor


def kept(values: Tensor, live: Tensor) -> Tensor:
    """The values with 0 where a token takes no part: an infinity or NaN there must not reach a product with 0."""
    return torch.where(live, values, torch.zeros_like(values))


def segment_sum(values: Tensor, sequence: Tensor) -> Tensor:
    """The sum of ``values [T]`` over each sample: ``[samples]``, 0 for an index that has no token."""
    samples = int(sequence.max()) + 1 if sequence.numel() else 0
    return torch.zeros(samples, dtype=values.dtype, device=values.device).index_add(0, sequence, values)


def segment_mean(values: Tensor, mask: Tensor, sequence: Tensor) -> Tensor:
    """The mean over each sample's tokens in ``mask [T]`` (bool): ``[samples]``, 0 where a sample has none of them."""
    tokens = segment_sum(mask.to(values.dtype), sequence)
    return segment_sum(kept(values, mask), sequence) / tokens.clamp(min=1)
