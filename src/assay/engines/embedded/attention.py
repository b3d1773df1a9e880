"""Attention over rows of unequal length, in the place of a model's own: no padding, no mask handed through the model.

All tokens of a step go through the model as one packed sequence ``[1, tokens]``; only attention needs to know whose
token is whose, and a plan tells it (``spans``, ``rows``). Registered with transformers under ``PACKED``.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

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
    # Squeezed, not indexed: the gradient of an index is a tensor of zeros, filled in.
    query, key, value = (t.squeeze(0) for t in (query, key, value))
    return plan.attend(module.layer_idx, query, key, value, scale, window).unsqueeze(0), None


def register() -> None:
    """Make ``PACKED`` known to transformers. Doing it again changes nothing."""
    from transformers import AttentionInterface

    AttentionInterface.register(PACKED, packed_attention)


def visible(places: Tensor, total: int, window: int | None) -> Tensor:
    """Which of ``total`` keys a query at each of ``places [...]`` sees, ``[..., total]``: its own and those before it.

    ``window``: how many of them at most; None sees all.
    """
    places = places.unsqueeze(-1)
    columns = torch.arange(total, device=places.device)
    seen = columns <= places
    return seen if window is None else seen & (columns > places - window)


def additive(seen: Tensor, like: Tensor) -> Tensor:
    """A mask that is added to scores, in the precision of ``like``: 0 where ``seen``, else minus infinity."""
    mask = torch.zeros(seen.shape, dtype=like.dtype, device=like.device)
    return mask.masked_fill_(~seen, float("-inf"))
