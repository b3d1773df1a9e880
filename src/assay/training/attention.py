"""Attention over packed segments, with gradients: each sees itself, causally, and the prompt that it continues.

No mask over the whole row is ever made, so nothing grows with the square of a packed row. Plugs into the model where
the embedded engine's packed attention does (``engines.embedded.attention``).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from .packing import Segment

_FUSED = (torch.float16, torch.bfloat16)
"""Types for which CUDA has a kernel that needs no mask in memory for queries that begin after their keys."""


class SegmentPlan:
    """See ``engines.embedded.attention.Plan``. One plan serves all layers, and their recomputation."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._sizes = [segment.size for segment in segments]
        self._masks: dict[tuple[int, int, int | None], Tensor] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        """``query [heads, T, dim]``, ``key`` and ``value [kv heads, T, dim]`` to ``[T, heads, dim]``."""
        del layer
        # Split, not sliced: the gradient of a split is one concatenation, that of each slice a tensor of all T.
        queries, keys, values = (t.split(self._sizes, dim=1) for t in (query, key, value))
        parts: list[Tensor] = []
        for index, segment in enumerate(self._segments):
            k, v = keys[index], values[index]
            if segment.after is not None:
                k = torch.cat([keys[segment.after], k], dim=1)
                v = torch.cat([values[segment.after], v], dim=1)
            parts.append(self._one(queries[index], k, v, scale, window))
        return torch.cat(parts, dim=1).transpose(0, 1)

    def _one(self, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None) -> Tensor:
        new, total = query.shape[1], key.shape[1]
        groups = query.shape[0] // key.shape[0]
        # [1, heads, tokens, dim]; the heads of a group read the same keys.
        q = query.unsqueeze(0)
        k, v = (t.repeat_interleave(groups, dim=0).unsqueeze(0) if groups > 1 else t.unsqueeze(0) for t in (key, value))
        windowed = window is not None and total > window
        if new == total and not windowed:
            return scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)[0]
        if query.is_cuda and query.dtype in _FUSED and not windowed:
            return scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(new, total), scale=scale)[0]
        mask = self._mask(new, total, window if windowed else None, query.device)
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)[0]

    def _mask(self, new: int, total: int, window: int | None, device: torch.device) -> Tensor:
        """Bool ``[new, total]``: what each of the last ``new`` tokens sees. Kept: siblings are often equally long."""
        known = self._masks.get((new, total, window))
        if known is None:
            places = torch.arange(total - new, total, device=device).unsqueeze(1)
            columns = torch.arange(total, device=device)
            known = columns <= places
            if window is not None:
                known &= columns > places - window
            self._masks[new, total, window] = known
        return known
