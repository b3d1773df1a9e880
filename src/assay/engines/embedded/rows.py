"""Attention of one decoding step: one new token for each row of some banks, one call a bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from .attention import additive
from .kv import Bank


@dataclass(frozen=True, slots=True)
class Rows:
    """The seats [start, stop) of a bank, one new token each."""

    bank: Bank
    start: int
    stop: int


class DecodePlan:
    """See ``attention.Plan``. The keys and values of the new tokens are written into their seats."""

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
            self._masks[key] = additive(seen, like)[:, None, None, :]
        return self._masks[key]
