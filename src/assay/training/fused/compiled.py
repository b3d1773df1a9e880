"""A whole layer compiled around its attention: two graphs, one before it and one after it, for any number of tokens.

All layers share them. Here nothing is fused by hand: the compiler does that, backward too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from assay.engines.embedded.attention import packed_attention

from ..adapter import linear_parts
from .modules import window_of
from .pointwise import swapped


def compiled_layer() -> Callable[..., Tensor]:
    """The forward pass of a layer, to stand in every layer of a model."""
    begin, end = (torch.compile(part, dynamic=True, fullgraph=True) for part in cast("list[Any]", [_begin, _end]))

    def layer(
        self: Any,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        **options: Any,
    ) -> Tensor:
        assert position_embeddings is not None
        own = self.self_attn
        query, key, value = begin(self, hidden_states, *position_embeddings)
        found, _ = packed_attention(
            own, query, key, value, attention_mask, scaling=own.scaling, sliding_window=window_of(own), **options
        )
        return end(self, hidden_states, found.flatten(2))

    return layer


def _begin(layer: Any, states: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``states [1, T, size]`` to queries, keys and values ``[1, heads, T, dim]``."""
    own = layer.self_attn
    x = layer.input_layernorm(states)
    query, key, value = (
        _linear(x, part).unflatten(-1, (-1, own.head_dim)) for part in (own.q_proj, own.k_proj, own.v_proj)
    )
    if hasattr(own, "q_norm"):
        query, key = own.q_norm(query), own.k_norm(key)
    query, key = (t * cos + swapped(t) * sin for t in (query, key))
    return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)


def _end(layer: Any, states: Tensor, found: Tensor) -> Tensor:
    """What follows attention: ``states`` and ``found`` to the states of the next layer."""
    states = states + _linear(found, layer.self_attn.o_proj)
    mlp, x = layer.mlp, layer.post_attention_layernorm(states)
    return states + _linear(mlp.act_fn(_linear(x, mlp.gate_proj)) * _linear(x, mlp.up_proj), mlp.down_proj)


def _linear(x: Tensor, layer: nn.Module) -> Tensor:
    parts = linear_parts(layer)
    out = linear(x, parts.weight, parts.bias)
    if parts.down is None or parts.up is None or parts.scale is None:
        return out
    inner = linear(x, parts.down).flatten(0, -2)
    return torch.addmm(out.flatten(0, -2), inner, parts.up.t(), alpha=parts.scale).view(out.shape)
