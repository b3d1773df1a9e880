"""Attention while prompts are computed: spans of rows of any length, each causal in itself and blind to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from .attention import additive, visible
from .kv import KvShape, part

_LARGEST_MASK = 1 << 25
"""Most entries of a padded mask (64 MB in half precision); larger steps go span by span."""


@dataclass(slots=True)
class Span:
    """Tokens of one row that are computed together, after ``past`` (slabs, in order)."""

    ids: Sequence[int]
    past: Sequence[Tensor]
    keep: bool = True
    """Whether the keys and values of these tokens are wanted."""
    start: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = sum(slab.shape[3] for slab in self.past)


class SpanPlan:
    """See ``attention.Plan``.

    Args:
        spans: in the order of the packed tokens.
        shape: of the keys and values.
        together: one padded call for all spans, for devices where the number of calls counts more than their size.
    """

    def __init__(self, spans: Sequence[Span], shape: KvShape, *, together: bool = False) -> None:
        self._spans = spans
        self._masks: dict[tuple[int, int, int | None], Tensor | None] = {}
        self._padded = _Padded(spans, shape.device) if together and len(spans) > 1 else None
        kept = any(span.keep for span in spans)
        self._new = shape.empty(tokens=sum(len(span.ids) for span in spans)) if kept else None

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        if self._new is not None:
            self._new[layer, 0], self._new[layer, 1] = key, value
        if self._padded is not None and self._padded.fits(query.shape[0] // key.shape[0]):
            return self._padded.attend(layer, query, key, value, scale, window)
        out = torch.empty((query.shape[1], query.shape[0], value.shape[2]), dtype=query.dtype, device=query.device)
        at = 0
        for span in self._spans:
            end = at + len(span.ids)
            keys, values = key[:, at:end], value[:, at:end]
            if span.past:
                keys = torch.cat([*(slab[layer, 0] for slab in span.past), keys], dim=1)
                values = torch.cat([*(slab[layer, 1] for slab in span.past), values], dim=1)
            out[at:end] = self._one(query[:, at:end], keys, values, scale, window)
            at = end
        return out

    def slabs(self) -> list[Tensor | None]:
        """After the last layer: the new keys and values of each span that keeps them, in memory of their own."""
        found: list[Tensor | None] = []
        at = 0
        for span in self._spans:
            end = at + len(span.ids)
            slab = part(self._new, at, end) if span.keep and self._new is not None else None
            found.append(slab if slab is None or len(self._spans) == 1 else slab.clone())
            at = end
        return found

    def _one(self, query: Tensor, keys: Tensor, values: Tensor, scale: float | None, window: int | None) -> Tensor:
        kv_heads, tokens = keys.shape[0], query.shape[1]
        q = query.reshape(kv_heads, -1, tokens, query.shape[2])
        # Expanded, not repeated: heads of one group read the same memory.
        k, v = (t.unsqueeze(1).expand(-1, q.shape[1], -1, -1) for t in (keys, values))
        mask = self._mask(tokens, keys.shape[1], window, query)
        causal = mask is None and tokens > 1
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)
        return out.flatten(0, 1).transpose(0, 1)

    def _mask(self, new: int, total: int, window: int | None, like: Tensor) -> Tensor | None:
        """Additive ``[new, total]``; None where plain causal attention (or one token that sees all) says the same."""
        windowed = window is not None and total > window
        if not windowed and new in (total, 1):
            return None
        key = (new, total, window if windowed else None)
        if key not in self._masks:
            rows = torch.arange(total - new, total, device=like.device)
            self._masks[key] = additive(visible(rows, total, window), like)
        return self._masks[key]


class _Padded:
    """All spans as one batch: keys and queries are gathered into rectangles, the results gathered back."""

    def __init__(self, spans: Sequence[Span], device: torch.device) -> None:
        slabs = {id(slab): slab for span in spans for slab in span.past}
        self._slabs = list(slabs.values())
        offsets, at = dict[int, int](), 0
        for name, slab in slabs.items():
            offsets[name] = at
            at += slab.shape[3]
        longest = max(len(span.ids) for span in spans)
        total = max(span.start + len(span.ids) for span in spans)
        keys, queries, back = list[list[int]](), list[list[int]](), list[int]()
        first = 0
        for number, span in enumerate(spans):
            size = len(span.ids)
            places = [offsets[id(slab)] + i for slab in span.past for i in range(slab.shape[3])]
            places += range(at + first, at + first + size)
            keys.append(places + [0] * (total - len(places)))
            queries.append([*range(first, first + size), *[first] * (longest - size)])
            back += range(number * longest, number * longest + size)
            first += size
        self._keys, self._queries, self._back = (torch.tensor(x, device=device) for x in (keys, queries, back))
        self._starts = torch.tensor([span.start for span in spans], device=device)
        self._masks: dict[int | None, Tensor] = {}

    def fits(self, group: int) -> bool:
        """Whether the mask is small enough, for so many heads a key."""
        return group * self._queries.numel() * self._keys.shape[1] <= _LARGEST_MASK

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        kv_heads, dim = key.shape[0], query.shape[2]
        k = torch.cat([*(slab[layer, 0] for slab in self._slabs), key], dim=1)[:, self._keys].transpose(0, 1)
        v = torch.cat([*(slab[layer, 1] for slab in self._slabs), value], dim=1)[:, self._keys].transpose(0, 1)
        q = query[:, self._queries].transpose(0, 1)
        spans, heads, longest, _ = q.shape
        # The heads of one group follow each other as if they were tokens: keys are not repeated for them.
        q = q.reshape(spans, kv_heads, -1, dim)
        mask = self._mask(heads // kv_heads, window, query)
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        return out.reshape(spans, heads, longest, dim).transpose(1, 2).flatten(0, 1)[self._back]

    def _mask(self, group: int, window: int | None, like: Tensor) -> Tensor:
        """Additive ``[spans, 1, group * longest, total]``. Rows and keys of padding see and are seen by nobody real."""
        if window not in self._masks:
            rows = self._starts.unsqueeze(1) + torch.arange(self._queries.shape[1], device=like.device)
            seen = visible(rows, self._keys.shape[1], window)
            self._masks[window] = additive(seen, like).repeat(1, group, 1).unsqueeze(1)
        return self._masks[window]
