"""From logits to tokens. Pure torch, no model: one row's choice depends on its logits, its knobs and its own draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_GREEDY_BELOW = 1e-5
_FIRST_LOOK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """How a row samples: temperature first, then top-k, then top-p over what top-k left. 0 or less turns top-k off."""

    temperature: float
    top_p: float = 1.0
    top_k: int = -1

    @property
    def greedy(self) -> bool:
        return self.temperature < _GREEDY_BELOW

    @property
    def filtered(self) -> bool:
        return self.top_k > 0 or self.top_p < 1.0


def pick(logits: Tensor, knobs: Sequence[Knobs], draws: Sequence[float]) -> list[int]:
    """A token for each row of ``logits [rows, vocabulary]`` (float32), by inverting the distribution at ``draws``.

    ``draws`` are uniform in [0, 1); a greedy row ignores its own.
    """
    chosen = logits.argmax(-1).tolist()
    hot = [i for i, k in enumerate(knobs) if not k.greedy]
    if not hot:
        return chosen
    heat = torch.tensor([knobs[i].temperature for i in hot], device=logits.device).unsqueeze(1)
    probs = (logits[hot] / heat).softmax(-1)
    plain = [(row, i) for row, i in enumerate(hot) if not knobs[i].filtered]
    if plain:
        found = _invert(probs[[row for row, _ in plain]], [draws[i] for _, i in plain])
        for (_, i), token in zip(plain, found, strict=True):
            chosen[i] = token
    for row, i in enumerate(hot):
        if knobs[i].filtered:
            chosen[i] = _nucleus(probs[row], knobs[i], draws[i])
    return chosen


def _invert(weights: Tensor, draws: Sequence[float]) -> list[int]:
    """The first place of each row where the running sum passes its draw (as a share of the row's total)."""
    sums = weights.cumsum(-1, dtype=torch.float64)
    goal = torch.tensor(draws, dtype=torch.float64, device=weights.device).unsqueeze(1) * sums[:, -1:]
    places = torch.searchsorted(sums, goal, right=True).squeeze(1)
    return places.clamp_(max=weights.shape[1] - 1).tolist()


def _nucleus(probs: Tensor, knobs: Knobs, draw: float) -> int:
    size = knobs.top_k if knobs.top_k > 0 else _FIRST_LOOK
    while True:
        values, ids = probs.topk(min(size, probs.shape[0]))
        sums = values.cumsum(0, dtype=torch.float64)
        if knobs.top_k > 0 or len(ids) == probs.shape[0] or float(sums[-1]) >= knobs.top_p:
            break
        size *= 8
    limit = knobs.top_p * (float(sums[-1]) if knobs.top_k > 0 else 1.0)
    kept = min(int(torch.searchsorted(sums, limit)) + 1, len(ids))
    return int(ids[_invert(values[:kept].unsqueeze(0), [draw])[0]])


Alternatives = tuple[tuple[int, float], ...]
"""Token ids with their log-probs, the likeliest first."""


def token_logprobs(logits: Tensor, tokens: Sequence[int], top: int) -> tuple[list[float], list[Alternatives]]:
    """ln P of each row's token at temperature 1, before any filter, and the ``top`` likeliest tokens of each row."""
    logs = logits.log_softmax(-1)
    own = logs.gather(1, torch.tensor(tokens, device=logits.device).unsqueeze(1)).squeeze(1).tolist()
    if top <= 0:
        return own, [()] * len(tokens)
    values, ids = logs.topk(min(top, logs.shape[1]))
    rows = zip(ids.tolist(), values.tolist(), strict=True)
    return own, [tuple(zip(i, v, strict=True)) for i, v in rows]


def broken(logits: Tensor) -> list[bool]:
    """Which rows hold no distribution (NaN, or nothing finite): half precision can overflow."""
    return (~logits.amax(-1).isfinite()).tolist()
