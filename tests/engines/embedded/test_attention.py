"""Packed attention beside attention written out row by row in plain sums."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from assay.engines.embedded.kv import Banks, KvShape
from assay.engines.embedded.rows import DecodePlan, Rows
from assay.engines.embedded.spans import Span, SpanPlan

LAYERS, KV_HEADS, HEADS, DIM = 2, 2, 6, 8
SHAPE = KvShape(layers=LAYERS, heads=KV_HEADS, dim=DIM, dtype=torch.float32, device=torch.device("cpu"))


def by_hand(query: Tensor, keys: Tensor, values: Tensor, place: int, window: int | None) -> Tensor:
    """One token at ``place``, ``query [heads, dim]``, sees the keys up to its place within the window."""
    first = 0 if window is None else max(0, place - window + 1)
    out = torch.zeros(HEADS, DIM)
    for head in range(HEADS):
        k, v = keys[head * KV_HEADS // HEADS, first : place + 1], values[head * KV_HEADS // HEADS, first : place + 1]
        weights = torch.softmax(k @ query[head] / math.sqrt(DIM), dim=0)
        out[head] = weights @ v
    return out


def slab(tokens: int) -> Tensor:
    return torch.randn(LAYERS, 2, KV_HEADS, tokens, DIM)


@pytest.mark.parametrize("window", [None, 4, 100])
@pytest.mark.parametrize("together", [False, True])
def test_spans(together: bool, window: int | None) -> None:
    torch.manual_seed(0)
    shared, own = slab(5), slab(3)
    spans = [
        Span(range(4), ()),
        Span(range(3), (shared,)),
        Span(range(1), (shared, own)),
        Span(range(6), (own,), keep=False),
    ]
    plan = SpanPlan(spans, SHAPE, together=together)
    total = sum(len(span.ids) for span in spans)
    for layer in range(LAYERS):
        query, key, value = (
            torch.randn(HEADS, total, DIM),
            torch.randn(KV_HEADS, total, DIM),
            torch.randn(KV_HEADS, total, DIM),
        )
        out = plan.attend(layer, query, key, value, None, window)
        at = 0
        for span in spans:
            end = at + len(span.ids)
            keys = torch.cat([*(s[layer, 0] for s in span.past), key[:, at:end]], dim=1)
            values = torch.cat([*(s[layer, 1] for s in span.past), value[:, at:end]], dim=1)
            for i in range(len(span.ids)):
                expected = by_hand(query[:, at + i], keys, values, span.start + i, window)
                assert torch.allclose(out[at + i], expected, atol=1e-5)
            at = end
    slabs = plan.slabs()
    assert slabs[3] is None
    assert slabs[1] is not None
    assert torch.equal(slabs[1][LAYERS - 1, 0], key[:, 4:7])
    assert slabs[1].untyped_storage().nbytes() == slabs[1].nbytes


@pytest.mark.parametrize("window", [None, 4, 100])
def test_decoding_rows_of_several_banks(window: int | None) -> None:
    torch.manual_seed(1)
    banks = Banks(SHAPE)
    contents = [slab(n) for n in (3, 130, 7, 3)]
    seats = [banks.seat([content]) for content in contents]
    runs = [Rows(bank, 0, len(bank.seats)) for bank in banks]
    order = [seats.index(seat) for r in runs for seat in r.bank.seats]
    plan = DecodePlan(runs)
    for layer in range(LAYERS):
        query, key, value = torch.randn(HEADS, 4, DIM), torch.randn(KV_HEADS, 4, DIM), torch.randn(KV_HEADS, 4, DIM)
        out = plan.attend(layer, query, key, value, None, window)
        for at, i in enumerate(order):
            keys = torch.cat([contents[i][layer, 0], key[:, at : at + 1]], dim=1)
            values = torch.cat([contents[i][layer, 1], value[:, at : at + 1]], dim=1)
            expected = by_hand(query[:, at], keys, values, keys.shape[1] - 1, window)
            assert torch.allclose(out[at], expected, atol=1e-5)
