"""Attention over packed segments, with gradients: each sees itself, causally, and the prompt that it continues.

No mask over a whole packed row is ever made. Plugs into the model where the embedded engine's packed attention does
(``engines.embedded.attention``).
Three ways to compute the same: all in one call of a kernel for many lengths (``varlen``), where there is one for what
is asked; else segment by segment, which wastes nothing, or all in one padded call, where many small calls cost more
than the padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from assay.engines.embedded.attention import Plan, additive, visible

from .packing import Segment
from .varlen import VarlenPlan, takes

_LARGEST_MASK = 1 << 25
"""Most entries of a padded mask (64 MB in half precision); larger micro-batches go segment by segment."""

_SHORT = 1 << 10
"""Entries of one segment's mask up to which a call costs the CPU more than its padding (16 x 24: a fifth of an update,
where 32 x 76 loses a twentieth)."""

_FUSED = (torch.float16, torch.bfloat16)


def plan_for(segments: Sequence[Segment], device: torch.device) -> Plan:
    """The faster way on this device. One plan serves all layers of a pass, and their recomputation."""
    if device.type == "cuda" and len(segments) > 1:
        return CudaPlan(segments, device)
    return _without_kernel(segments, device)


class CudaPlan:
    """The kernel for many lengths where it takes what a layer asks (half precision, no window), else another way."""

    def __init__(self, segments: Sequence[Segment], device: torch.device) -> None:
        self._segments, self._device = segments, device
        self._varlen: Plan | None = None
        self._other: Plan | None = None

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        """See ``engines.embedded.attention.Plan``."""
        if takes(query, window):
            self._varlen = plan = self._varlen or VarlenPlan(self._segments, self._device)
        else:
            self._other = plan = self._other or _without_kernel(self._segments, self._device)
        return plan.attend(layer, query, key, value, scale, window)


def _without_kernel(segments: Sequence[Segment], device: torch.device) -> Plan:
    if len(segments) > 1:
        longest, keys = max(s.size for s in segments), max(sum(_key_runs(segments, s)) for s in segments)
        small = device.type == "cuda" or longest * keys <= _SHORT
        if small and len(segments) * longest * keys <= _LARGEST_MASK:
            return PaddedPlan(segments, device)
    return SegmentPlan(segments)


class SegmentPlan:
    """One call a segment. See ``engines.embedded.attention.Plan``."""

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
        # [1, heads, tokens, dim]
        q = query.unsqueeze(0)
        k, v = (t.repeat_interleave(groups, dim=0).unsqueeze(0) if groups > 1 else t.unsqueeze(0) for t in (key, value))
        windowed = window is not None and total > window
        if new == total and not windowed:
            return scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)[0]
        if query.is_cuda and query.dtype in _FUSED and not windowed:
            # There is a kernel that needs no mask in memory for queries that begin after their keys.
            return scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(new, total), scale=scale)[0]
        mask = self._mask(new, total, window if windowed else None, query.device)
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)[0]

    def _mask(self, new: int, total: int, window: int | None, device: torch.device) -> Tensor:
        """Bool ``[new, total]``: what each of the last ``new`` tokens sees. Kept: siblings are often equally long."""
        known = self._masks.get((new, total, window))
        if known is None:
            known = visible(torch.arange(total - new, total, device=device), total, window)
            self._masks[new, total, window] = known
        return known


class PaddedPlan:
    """All segments as one batch ``[segments, longest]``: gathered into rectangles, computed, gathered back."""

    def __init__(self, segments: Sequence[Segment], device: torch.device) -> None:
        starts = [0]
        for segment in segments:
            starts.append(starts[-1] + segment.size)
        # Place T is a token of zeros, behind the others.
        rows: list[list[int]] = []
        keys: list[list[int]] = []
        for index, segment in enumerate(segments):
            own = list(range(starts[index], starts[index + 1]))
            before = [] if segment.after is None else range(starts[segment.after], starts[segment.after + 1])
            rows.append(own)
            keys.append([*before, *own])
        self._longest, self._total = max(map(len, rows)), max(map(len, keys))
        ends = torch.tensor([len(k) for k in keys], device=device).unsqueeze(1)
        sizes = torch.tensor([len(r) for r in rows], device=device).unsqueeze(1)
        # What padding asks is dropped, but it must see something: it stands where the last token does.
        self._places = torch.minimum(ends - sizes + torch.arange(self._longest, device=device), ends - 1)
        self._rows = _rectangle(rows, self._longest, starts[-1], device)
        self._keys = _rectangle(keys, self._total, starts[-1], device)
        back = [i * self._longest + j for i, row in enumerate(rows) for j in range(len(row))]
        self._back = torch.tensor(back, device=device)
        self._masks: dict[tuple[int, int | None, torch.dtype], Tensor] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        """See ``SegmentPlan.attend``."""
        del layer
        heads, kv_heads, count = query.shape[0], key.shape[0], self._places.shape[0]
        q, k, v = (
            torch.nn.functional.pad(t, (0, 0, 0, 1))
            .index_select(1, places)
            .reshape(t.shape[0], count, -1, t.shape[2])
            .transpose(0, 1)
            for t, places in ((query, self._rows), (key, self._keys), (value, self._keys))
        )
        # The heads of one group follow each other as if they were tokens: keys are not repeated for them.
        q = q.reshape(count, kv_heads, -1, query.shape[2])
        mask = self._mask(heads // kv_heads, window, query)
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        out = out.reshape(count, heads, self._longest, -1).transpose(1, 2).flatten(0, 1)
        return out.index_select(0, self._back)

    def _mask(self, groups: int, window: int | None, like: Tensor) -> Tensor:
        """Additive ``[segments, 1, groups * longest, total]``."""
        name = (groups, window, like.dtype)
        if name not in self._masks:
            seen = visible(self._places, self._total, window)
            self._masks[name] = additive(seen, like).repeat(1, groups, 1).unsqueeze(1)
        return self._masks[name]


def _key_runs(segments: Sequence[Segment], segment: Segment) -> tuple[int, int]:
    return (0 if segment.after is None else segments[segment.after].size), segment.size


def _rectangle(rows: list[list[int]], width: int, padding: int, device: torch.device) -> Tensor:
    """Flat, row after row."""
    return torch.tensor([place for row in rows for place in row + [padding] * (width - len(row))], device=device)
