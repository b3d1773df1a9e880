"""Attention over rows of unequal length, in the place of a model's own: no padding, no mask handed through the model.

All tokens of a step go through the model as one packed sequence ``[1, tokens]``; only attention needs to know whose
token is whose, and a plan tells it. Registered with transformers under ``PACKED``. Owns: that mathematics. Does not
own: which rows are computed when (``batch``), where their keys and values lie (``kv``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from .kv import Bank

PACKED = "assay_packed"
PLAN = "assay_plan"
"""The keyword under which a plan travels through ``model.forward`` down to each attention layer."""


class UnsupportedAttentionError(Exception):
    """The model's attention does something that packed attention does not do."""


class Plan(Protocol):
    """Whose token is whose in one packed step."""

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        """``query [heads, tokens, dim]``, ``key`` and ``value [kv heads, tokens, dim]`` to ``[tokens, heads, dim]``."""
        ...


def packed_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """The function that transformers calls in each layer; shapes as its attention interface has them, batch 1."""
    del attention_mask
    plan: Plan | None = options.get(PLAN)
    if plan is None:
        raise UnsupportedAttentionError("its layers do not pass keyword arguments on to attention")
    for name in ("softcap", "s_aux", "position_bias"):
        if options.get(name) is not None:
            raise UnsupportedAttentionError(f"its attention uses {name}")
    scale, window = options.get("scaling"), options.get("sliding_window")
    return plan.attend(module.layer_idx, query[0], key[0], value[0], scale, window).unsqueeze(0), None


def register() -> None:
    """Make ``PACKED`` known to transformers. Doing it again changes nothing."""
    from transformers import AttentionInterface

    AttentionInterface.register(PACKED, packed_attention)


def _grouped(query: Tensor, kv_heads: int) -> Tensor:
    """``[heads, tokens, dim]`` to ``[kv heads, heads of one group, tokens, dim]``."""
    heads, tokens, dim = query.shape
    return query.reshape(kv_heads, heads // kv_heads, tokens, dim)


@dataclass(slots=True)
class Span:
    """Tokens of one row that are computed together, after ``past`` (slabs, in order)."""

    ids: Sequence[int]
    past: Sequence[Tensor]
    out: Tensor | None
    """Where the keys and values of these tokens go, ``[layers, 2, heads, tokens, dim]``; None drops them."""
    start: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = sum(slab.shape[3] for slab in self.past)


class SpanPlan:
    """Several spans after one another, each causal in itself and blind to the others."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._masks: dict[tuple[int, int, int | None], Tensor | None] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        out = torch.empty((query.shape[1], query.shape[0], value.shape[2]), dtype=query.dtype, device=query.device)
        at = 0
        for span in self._spans:
            end = at + len(span.ids)
            keys, values = key[:, at:end], value[:, at:end]
            if span.out is not None:
                span.out[layer, 0], span.out[layer, 1] = keys, values
            if span.past:
                keys = torch.cat([*(slab[layer, 0] for slab in span.past), keys], dim=1)
                values = torch.cat([*(slab[layer, 1] for slab in span.past), values], dim=1)
            out[at:end] = self._one(query[:, at:end], keys, values, scale, window)
            at = end
        return out

    def _one(self, query: Tensor, keys: Tensor, values: Tensor, scale: float | None, window: int | None) -> Tensor:
        q = _grouped(query, keys.shape[0])
        # Expanded, not repeated: heads of one group read the same memory.
        k, v = (t.unsqueeze(1).expand(-1, q.shape[1], -1, -1) for t in (keys, values))
        mask = self._mask(query.shape[1], keys.shape[1], window, query)
        causal = mask is None and query.shape[1] > 1
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)
        return out.flatten(0, 1).transpose(0, 1)

    def _mask(self, new: int, total: int, window: int | None, like: Tensor) -> Tensor | None:
        """Additive ``[new, total]``; None where plain causal attention (or one token that sees all) says the same."""
        windowed = window is not None and total > window
        if not windowed and (new == total or new == 1):
            return None
        key = (new, total, window if windowed else None)
        if key not in self._masks:
            rows = torch.arange(total - new, total, device=like.device).unsqueeze(1)
            columns = torch.arange(total, device=like.device)
            seen = columns <= rows
            if windowed and window is not None:
                seen &= columns > rows - window
            self._masks[key] = _additive(seen, like)
        return self._masks[key]


@dataclass(frozen=True, slots=True)
class Rows:
    """The seats [start, stop) of a bank, one new token each."""

    bank: Bank
    start: int
    stop: int


class DecodePlan:
    """One new token for each row of some banks: one attention call a bank."""

    def __init__(self, rows: Sequence[Rows]) -> None:
        self._rows = rows
        self._lengths = [[seat.length for seat in r.bank.seats[r.start : r.stop]] for r in rows]
        self._at: dict[int, tuple[Tensor, Tensor]] = {}
        self._masks: dict[tuple[int, int | None], Tensor | None] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        kv_heads, out, at = key.shape[0], [], 0
        for number, rows in enumerate(self._rows):
            end = at + rows.stop - rows.start
            keys, values = (
                rows.bank.buffer[layer, 0, rows.start : rows.stop],
                rows.bank.buffer[layer, 1, rows.start : rows.stop],
            )
            which, where = self._places(number, key.device)
            keys[which, :, where] = key[:, at:end].transpose(0, 1)
            values[which, :, where] = value[:, at:end].transpose(0, 1)
            total = max(self._lengths[number]) + 1
            # The heads of one group are the "tokens" of the query: no key or value is copied or expanded.
            q = query[:, at:end].transpose(0, 1).unflatten(1, (kv_heads, -1))
            mask = self._mask(number, total, window, query)
            done = scaled_dot_product_attention(
                q, keys[:, :, :total], values[:, :, :total], attn_mask=mask, scale=scale
            )
            out.append(done.flatten(1, 2))
            at = end
        return out[0] if len(out) == 1 else torch.cat(out)

    def _places(self, number: int, device: torch.device) -> tuple[Tensor, Tensor]:
        if number not in self._at:
            lengths = self._lengths[number]
            self._at[number] = torch.arange(len(lengths), device=device), torch.tensor(lengths, device=device)
        return self._at[number]

    def _mask(self, number: int, total: int, window: int | None, like: Tensor) -> Tensor | None:
        """Additive ``[rows, 1, 1, total]``; None where every row sees all of it."""
        lengths = self._lengths[number]
        windowed = window is not None and total > window
        if not windowed and min(lengths) + 1 == total:
            return None
        key = (number, window if windowed else None)
        if key not in self._masks:
            last = torch.tensor(lengths, device=like.device).unsqueeze(1)
            columns = torch.arange(total, device=like.device)
            seen = columns <= last
            if windowed and window is not None:
                seen &= columns > last - window
            self._masks[key] = _additive(seen, like)[:, None, None, :]
        return self._masks[key]


def _additive(seen: Tensor, like: Tensor) -> Tensor:
    mask = torch.zeros(seen.shape, dtype=like.dtype, device=like.device)
    return mask.masked_fill_(~seen, float("-inf"))
