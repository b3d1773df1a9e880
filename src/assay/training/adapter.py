"""LoRA by peft, inside the transformers model itself: added, switched off for the reference, merged for export."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from assay.core.errors import StartError

_NAME = "default"


def add_adapter(
    lm: Any, *, rank: int, alpha: int | None, seed: int, dtype: torch.dtype, head: str | None = None
) -> None:
    """Put an adapter on every linear layer but the head, and leave nothing else to train. It begins as no change.

    Args:
        head: name of a layer that is trained whole beside the adapter.

    Raises:
        StartError: peft is not installed.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise StartError("lora_rank needs peft; fix: pip install 'assay[train]'") from error
    settings = LoraConfig(
        r=rank,
        lora_alpha=2 * rank if alpha is None else alpha,
        target_modules="all-linear",
        exclude_modules=None if head is None else [head],
    )
    with torch.random.fork_rng(devices=[lm.device] if lm.device.type == "cuda" else []):
        torch.manual_seed(seed)
        inject_adapter_in_model(settings, lm, adapter_name=_NAME)
    if head is not None:
        lm.get_submodule(head).requires_grad_(True)
    for p in lm.parameters():
        if p.requires_grad:
            p.data = p.data.to(dtype)
    for _, layer in lora_layers(lm):
        # Autocast casts to the type of the product. peft would first widen the input to that of the stored adapter: two
        # more passes over every activation.
        layer.cast_input_dtype_enabled = lm.dtype == dtype


def lora_layers(lm: nn.Module) -> Iterator[tuple[str, Any]]:
    """The layers that carry an adapter, by the name that they had before."""
    from peft.tuners.lora import LoraLayer

    yield from ((name, module) for name, module in lm.named_modules() if isinstance(module, LoraLayer))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearParts:
    """W, b, A, B and the scale of W x + b + scale B A x. Without an adapter, or with it switched off: no last three."""

    weight: Tensor
    bias: Tensor | None
    down: Tensor | None
    up: Tensor | None
    scale: float | None


def base_of(layer: Any) -> Any:
    """The layer that an adapter is on, or the layer itself."""
    return layer.base_layer if hasattr(layer, "base_layer") else layer


def linear_parts(layer: Any) -> LinearParts:
    """The weights of a linear layer as they are now, under FSDP those gathered for this pass."""
    base = base_of(layer)
    if base is layer or layer._disable_adapters:
        return LinearParts(weight=base.weight, bias=base.bias, down=None, up=None, scale=None)
    down, up = layer.lora_A[_NAME].weight, layer.lora_B[_NAME].weight
    return LinearParts(weight=base.weight, bias=base.bias, down=down, up=up, scale=layer.scaling[_NAME])


@contextmanager
def without_adapter(lm: nn.Module) -> Generator[None]:
    """Inside, the model computes as it did before the adapter was added. For passes without gradient only."""
    layers = [layer for _, layer in lora_layers(lm)]
    for layer in layers:
        # peft's own switch (enable_adapters) also changes what is trained, which FSDP must not see.
        layer._disable_adapters = True
    try:
        yield
    finally:
        for layer in layers:
            layer._disable_adapters = False


def delta(layer: Any, whole: Any) -> Tensor:
    """What the adapter adds to a layer's weight. ``whole`` makes a weight out of this rank's part of it."""
    a: Tensor = whole(layer.lora_A[_NAME].weight)
    b: Tensor = whole(layer.lora_B[_NAME].weight)
    product = (b @ a) * layer.scaling[_NAME]
    return product.T if layer.fan_in_fan_out else product


def peft_name(name: str) -> str:
    """A trained weight as peft's files name it."""
    return "base_model.model." + name.replace(f".{_NAME}.", ".")


def write_adapter(folder: Path, tensors: Mapping[str, Tensor], layers: Mapping[str, Any], base: str) -> None:
    """``adapter_config.json`` and ``adapter_model.safetensors``. Raises OSError.

    Args:
        layers: those that carry the adapter, by name.
        base: the model that it belongs to.
    """
    from peft import LoraConfig
    from safetensors.torch import save_file

    some = next(iter(layers.values()))
    heads = sorted({name.split(".")[-2] for name in tensors if ".lora_" not in name})
    LoraConfig(
        r=some.r[_NAME],
        lora_alpha=some.lora_alpha[_NAME],
        target_modules=sorted({name.split(".")[-1] for name in layers}),
        modules_to_save=heads or None,
        task_type="SEQ_CLS" if heads else "CAUSAL_LM",
        base_model_name_or_path=base,
        inference_mode=True,
    ).save_pretrained(str(folder))
    save_file(
        {name: t.contiguous() for name, t in tensors.items()}, folder / "adapter_model.safetensors", {"format": "pt"}
    )
