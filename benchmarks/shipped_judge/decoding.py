"""Texts of many prompts at once by one transformers model: for a card, where the engine's care for each row costs more.

What all prompts share is computed once. Rows that have ended leave the batch, so that few long texts cost little.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from assay.engines.embedded.prefix import common_length

_LOOK = 8
"""Steps between two looks at which rows have ended."""
_WORTH = 0.8
"""Rows leave once so many of them are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """How to choose a token; a temperature of 0 takes the likeliest."""

    new_tokens: int
    temperature: float = 0.0
    seed: int = 0


@dataclass(slots=True)
class _Rows:
    """The rows that are still written: their places, the tokens of each, and what has ended."""

    places: list[int]
    mask: Tensor
    positions: Tensor
    said: list[Tensor]
    ended: Tensor


@torch.inference_mode()
def first_logits(
    lm: Any, prompts: Sequence[tuple[int, ...]], tokens: Sequence[int], *, batch: int
) -> list[list[float]]:
    """The logits of some tokens as the first of what follows each prompt: one pass."""
    shared = len(_opening(prompts))
    found: dict[int, list[float]] = {}
    order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
    for begin in range(0, len(order), batch):
        places = order[begin : begin + batch]
        logits, _, _ = _begin(lm, {place: prompts[place] for place in places}, shared)
        found |= dict(zip(places, logits[:, list(tokens)].float().tolist(), strict=True))
    return [found[place] for place in range(len(prompts))]


@torch.inference_mode()
def decode(
    lm: Any, prompts: Sequence[tuple[int, ...]], ends: tuple[int, ...], drawn: Drawn, *, batch: int
) -> list[tuple[tuple[int, ...], bool]]:
    """The tokens that follow each prompt up to one of ``ends``, which is left out; and whether they came to an end."""
    order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
    shared = len(_opening(prompts))
    generator = torch.Generator(lm.device).manual_seed(drawn.seed)
    found: dict[int, tuple[tuple[int, ...], bool]] = {}
    for begin in range(0, len(order), batch):
        places = order[begin : begin + batch]
        found |= _batch(lm, {place: prompts[place] for place in places}, shared, ends, drawn, generator)
    return [found[place] for place in range(len(prompts))]


def _opening(prompts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What all begin with; each keeps a token of its own, whose logits are wanted."""
    if not prompts:
        return ()
    first, last = min(prompts), max(prompts)
    shared = common_length(first, last)
    return first[: min(shared, min(map(len, prompts)) - 1)]


def _batch(
    lm: Any,
    prompts: dict[int, tuple[int, ...]],
    shared: int,
    ends: tuple[int, ...],
    drawn: Drawn,
    generator: torch.Generator,
) -> dict[int, tuple[tuple[int, ...], bool]]:
    logits, cache, rows = _begin(lm, prompts, shared)
    found: dict[int, tuple[tuple[int, ...], bool]] = {}
    for step in range(1, drawn.new_tokens + 1):
        tokens = _pick(logits, drawn, generator)
        _note(rows, tokens, ends)
        last = step == drawn.new_tokens
        if last or step % _LOOK == 0:
            kept = (~rows.ended).nonzero().flatten()
            if last or len(kept) <= _WORTH * len(rows.places):
                _leave(rows, found, ends, every=last)
                if last or not rows.places:
                    break
                cache.batch_select_indices(kept)
                tokens = tokens[kept]
        rows.mask = torch.cat([rows.mask, rows.mask.new_ones(len(tokens), 1)], dim=1)
        rows.positions = rows.positions + 1
        logits = _forward(
            lm, cache, input_ids=tokens[:, None], attention_mask=rows.mask, position_ids=rows.positions[:, None]
        )
    return found


def _begin(lm: Any, prompts: dict[int, tuple[int, ...]], shared: int) -> tuple[Tensor, Any, _Rows]:
    """The prompts computed: what they share by itself, then the rest, padded on the left."""
    from transformers import DynamicCache

    device, places = lm.device, list(prompts)
    opening = list(next(iter(prompts.values()))[:shared])
    rest = [list(prompts[place][shared:]) for place in places]
    width = max(map(len, rest))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rest], device=device)
    real = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rest], device=device)
    mask = torch.cat([real.new_ones(len(rest), shared), real], dim=1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache: Any = DynamicCache()
    if shared:
        _forward(lm, cache, input_ids=torch.tensor([opening], device=device))
        cache.batch_repeat_interleave(len(rest))
    logits = _forward(lm, cache, input_ids=ids, attention_mask=mask, position_ids=positions[:, shared:])
    ended = torch.zeros(len(rest), dtype=torch.bool, device=device)
    return logits, cache, _Rows(places, mask, positions[:, -1], [], ended)


def _forward(lm: Any, cache: Any, **inputs: Tensor) -> Tensor:
    """The logits behind the last token of each row; ``cache`` grows."""
    # Its name has changed; both names are in use.
    named = "cache" if "cache" in inspect.signature(lm.forward).parameters else "past_key_values"
    return lm(**inputs, **{named: cache}, use_cache=True, logits_to_keep=1).logits[:, -1]


def _pick(logits: Tensor, drawn: Drawn, generator: torch.Generator) -> Tensor:
    if not drawn.temperature:
        return logits.argmax(-1)
    return torch.multinomial((logits.float() / drawn.temperature).softmax(-1), 1, generator=generator).flatten()


def _note(rows: _Rows, tokens: Tensor, ends: tuple[int, ...]) -> None:
    """Write the tokens down, and which rows they end."""
    rows.said.append(tokens)
    rows.ended |= torch.isin(tokens, torch.tensor(ends, device=tokens.device))


def _leave(rows: _Rows, found: dict[int, tuple[tuple[int, ...], bool]], ends: tuple[int, ...], *, every: bool) -> None:
    """Take the rows that have ended out, or every row."""
    said, ended = torch.stack(rows.said, dim=1), rows.ended
    out = torch.ones_like(ended) if every else ended
    for place, row, done in zip(
        [place for place, leaves in zip(rows.places, out.tolist(), strict=True) if leaves],
        said[out].tolist(),
        ended[out].tolist(),
        strict=True,
    ):
        found[place] = _cut(row, ends), done
    kept = ~out
    rows.places = [place for place, stays in zip(rows.places, kept.tolist(), strict=True) if stays]
    rows.said = [tokens[kept] for tokens in rows.said]
    rows.mask, rows.positions = rows.mask[kept], rows.positions[kept]
    rows.ended = rows.ended[kept]


def _cut(row: list[int], ends: tuple[int, ...]) -> tuple[int, ...]:
    """The row up to where it ended; what was written after that, until it left, is no part of it."""
    return tuple(row[: next((at for at, token in enumerate(row) if token in ends), len(row))])
