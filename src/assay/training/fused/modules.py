"""The forward passes that replace those of transformers: each a method of the module that it stands in."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.engines.embedded.attention import packed_attention

from .linear import joint, product_dtype
from .pointwise import gated, normed, rotated, rotation


def norm(self: Any, hidden_states: Tensor) -> Tensor:
    """RMSNorm. In double precision that of transformers, which rounds to float32, so that nothing changes there."""
    if hidden_states.dtype == torch.float64 or hidden_states.dtype != self.weight.dtype:
        return type(self).forward(self, hidden_states)
    return normed(hidden_states, self.weight, self.variance_epsilon)


def rotary(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Once a pass, in the form that ``attention`` wants, and in the type that it computes in."""
    cos, sin = type(self).forward(self, x, position_ids)
    return rotation(cos, sin, product_dtype(x))


def feed_forward(self: Any, x: Tensor) -> Tensor:
    """down(silu(gate(x)) * up(x))"""
    return joint(gated(joint(x, (self.gate_proj, self.up_proj))), (self.down_proj,))


def attention(
    self: Any,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention of ``hidden_states [1, T, size]``, packed; ``position_embeddings``: of ``rotary``."""
    dim = self.head_dim
    qkv = joint(hidden_states.squeeze(0), (self.q_proj, self.k_proj, self.v_proj)).unflatten(-1, (-1, dim))
    heads, kv_heads = self.q_proj.out_features // dim, self.k_proj.out_features // dim
    turned, value = qkv.split((heads + kv_heads, kv_heads), 1)
    if hasattr(self, "q_norm"):
        query, key = turned.split((heads, kv_heads), 1)
        turned = torch.cat([self.q_norm(query), self.k_norm(key)], 1)
    query, key = rotated(turned, *position_embeddings).split((heads, kv_heads), 1)
    query, key, value = (t.transpose(0, 1).unsqueeze(0) for t in (query, key, value))
    found, _ = packed_attention(
        self, query, key, value, attention_mask, scaling=self.scaling, sliding_window=window_of(self), **options
    )
    return joint(found.flatten(2), (self.o_proj,)), None


def window_of(attention: Any) -> int | None:
    """Layers of Qwen say whether they have a window; Mistral's all have that of the model, Llama has none."""
    owner = attention if hasattr(attention, "sliding_window") else attention.config
    return owner.sliding_window if hasattr(owner, "sliding_window") else None
