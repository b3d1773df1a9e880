"""Adapters that tests make themselves: random numbers in peft's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from assay.engines.embedded.adapter_card import CARD
from assay.engines.embedded.lora import PREFIX, SETTINGS, WEIGHTS
from assay.engines.model_files import state_sha256, tensor_shapes, weight_files

TARGETS = ("q_proj", "down_proj")


def save_adapter(
    folder: Path, model: Path, *, rank: int = 4, alpha: int = 8, seed: int = 0, size: float = 0.3, **settings: Any
) -> Path:
    """An adapter on two kinds of layers of a model's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "target_modules": list(TARGETS), "bias": "none"}
    (folder / SETTINGS).write_text(json.dumps(said | settings))
    draw = torch.Generator().manual_seed(seed)
    tensors: dict[str, torch.Tensor] = {}
    for name, shape in tensor_shapes(model).items():
        layer = name.removesuffix(".weight")
        if layer.endswith(TARGETS):
            for part, form in (("A", (rank, shape[1])), ("B", (shape[0], rank))):
                values = torch.randn(form, generator=draw) * size
                tensors[f"{PREFIX}{layer}.lora_{part}.weight"] = values.to(torch.bfloat16)
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    return folder


def card(model: Path, **changes: Any) -> dict[str, Any]:
    """A whole card for an adapter on the weights in ``model``."""
    base = {"model": "tiny", "source": "made here", "state_sha256": state_sha256(weight_files(model))}
    said: dict[str, Any] = {
        "name": "tiny-judge",
        "summary": "Random numbers.",
        "license": "Apache-2.0",
        "base": base,
        "judges": {"verifier": {"target": "verdict"}, "pointwise": {"target": "scores", "temperature": 0.5}},
    }
    return said | changes


def save_card(folder: Path, model: Path, **changes: Any) -> Path:
    (folder / CARD).write_text(json.dumps(card(model, **changes)))
    return folder
