"""How many parameters of a model a token passes: what the account of cost (2 x parameters x tokens) stands on. Pure.

Counted are all weights of the files, tied ones once; of a mixture of experts, the share of the experts that is chosen
for each token; no vision or audio tower. What is quantized is packed, so that its shapes say nothing: None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts")
_TOWERS = frozenset({"visual", "vision_tower", "vision_model", "audio_tower"})


def active_parameters(config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Active parameters of a model.

    Args:
        config: its ``config.json``. shapes: name and shape of every tensor in its files.

    None where the files do not say: quantized weights, experts without a number of chosen ones, no tensors.
    """
    text: Any = config.get("text_config")
    inner: Mapping[str, Any] = cast("dict[str, Any]", text) if isinstance(text, dict) else config
    if "quantization_config" in config or "quantization_config" in inner or not shapes:
        return None
    tied = bool(config.get("tie_word_embeddings", inner.get("tie_word_embeddings", False)))
    always = in_experts = 0
    for name, shape in shapes.items():
        places = name.split(".")
        if _TOWERS & set(places) or (tied and name == "lm_head.weight" and len(shapes) > 1):
            continue
        if "experts" in places:
            in_experts += math.prod(shape)
        else:
            always += math.prod(shape)
    if not in_experts:
        return always
    experts, chosen = _said(inner, _EXPERTS), _said(inner, _CHOSEN)
    return None if experts is None or chosen is None else always + in_experts * chosen // experts


def _said(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    found = next((config[name] for name in names if name in config), None)
    return found if isinstance(found, int) and found > 0 else None
