"""An adapter added into the weights of its model: W + scale x B A, computed in float32, rounded once.

Deterministic: one product a layer, in the order of the names, on the CPU. After it the model has no trace of an adapter
and costs what it did before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from .lora import PREFIX, WEIGHTS, Lora, check_base, check_fits


def merge(model: Any, lora: Lora, name: str, path: Path) -> None:
    """Add ``lora`` into ``model``, which is called ``name`` and was read from ``path``; nothing is changed on an error.

    Raises:
        InputError: the adapter belongs to other weights, or does not fit.
    """
    from safetensors.torch import load_file

    check_base(lora, name, path)
    linears = _linears(model)
    check_fits(lora, {where: (layer.out_features, layer.in_features) for where, layer in linears.items()}, name)
    tensors = load_file(lora.path / WEIGHTS)
    with torch.no_grad():
        for where in sorted(lora.layers):
            weight = linears[where].weight
            a, b = (tensors[f"{PREFIX}{where}.lora_{part}.weight"].float() for part in "AB")
            weight.copy_(weight.float() + lora.scale * (b @ a))


def _linears(model: Any) -> dict[str, nn.Linear]:
    """The linear layers by name; not the head where its weights are the embedding's too."""
    embedding = model.get_input_embeddings().weight
    return {
        where: layer
        for where, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and layer.weight is not embedding
    }
