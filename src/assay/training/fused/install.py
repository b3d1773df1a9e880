"""Puts the fused passes into a model, where they are proved to compute what its own do, and takes them out again."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MethodType
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from assay.engines.embedded.attention import PLAN

from ..adapter import linear_parts
from ..attention import SegmentPlan
from ..packing import Segment
from .compiled import compiled_layer
from .linear import fits, lay
from .modules import attention, feed_forward, norm, rotary

_FAMILIES = ("Llama", "Mistral", "Qwen2", "Qwen3")
_SILU = ("SiLU", "SiLUActivation")
_KINDS = ("DecoderLayer", "Attention", "MLP", "RMSNorm", "RotaryEmbedding")
Passes: TypeAlias = "Mapping[str, Callable[..., Any]]"
_PASSES: Passes = {"Attention": attention, "MLP": feed_forward, "RMSNorm": norm, "RotaryEmbedding": rotary}
_CLOSE = {torch.float32: 1e-4, torch.float64: 1e-6}
_HALF_CLOSE = 0.05
"""Relative to the size of each value. Norms round to float32 at the best, half precision rounds elsewhere here; another
formula is off by more."""


def fuse(lm: Any) -> bool:
    """Replace the passes of a Llama-like model with packed attention, once its adapter is on. False: left as it is."""
    if not _known(lm):
        return False
    if not _proved(lm, _PASSES):
        told = "the fused passes do not compute what the layers of this model do: it keeps its own, which are slower"
        warnings.warn(told, RuntimeWarning, stacklevel=2)
        return False
    _replace(lm, _PASSES)
    lay_out(lm)
    return True


def compile_layers(lm: Any) -> bool:
    """The same by torch.compile. False: the model, or this machine, cannot be compiled; the model is as it was."""
    passes = {"DecoderLayer": compiled_layer(), "RotaryEmbedding": rotary}
    if not (_known(lm) and _compiles(lm, passes)):
        return False
    _replace(lm, passes)
    return True


def plain(lm: nn.Module) -> None:
    """The model's own passes again."""
    for module, _ in _replaceable(lm):
        module.__dict__.pop("forward", None)


def lay_out(lm: nn.Module) -> None:
    """Have weights that are multiplied together lie together. Needed again once a model has moved to a device."""
    for module, name in _replaceable(lm):
        if "forward" in module.__dict__:
            for group in _groups(module, name):
                lay(group)


def _replaceable(lm: nn.Module) -> Iterator[tuple[Any, str]]:
    """The modules of known families, and which of ``_KINDS`` they are."""
    names = {family + kind: kind for family in _FAMILIES for kind in _KINDS}
    yield from ((module, names[type(module).__name__]) for module in lm.modules() if type(module).__name__ in names)


def _replace(lm: nn.Module, passes: Passes) -> None:
    for module, kind in _replaceable(lm):
        if kind in passes:
            module.forward = MethodType(passes[kind], module)


def _groups(module: Any, name: str) -> list[list[nn.Module]]:
    """The linear layers of a module that are computed together."""
    if name == "Attention":
        return [[module.q_proj, module.k_proj, module.v_proj], [module.o_proj]]
    return [[module.gate_proj, module.up_proj], [module.down_proj]] if name == "MLP" else []


def _known(lm: Any) -> bool:
    """Whether it is built of what has a pass here, and nothing about it is unusual."""
    found = list(_replaceable(lm))
    counts = Counter(kind for _, kind in found)
    if not counts["DecoderLayer"] == counts["Attention"] == counts["MLP"] > 0 or counts["RotaryEmbedding"] != 1:
        return False
    if any(type(module.act_fn).__name__ not in _SILU for module, kind in found if kind == "MLP"):
        return False
    return all(fits(group) for module, kind in found for group in _groups(module, kind))


def _compiles(lm: Any, passes: Passes) -> bool:
    try:
        return _proved(lm, passes)
    except (RuntimeError, OSError) as error:  # of the compiler, its back end (all RuntimeErrors), or its own compiler
        warnings.warn(f"torch.compile failed, so nothing is compiled: {error}", RuntimeWarning, stacklevel=2)
        return False
    finally:
        plain(lm)


def _proved(lm: Any, passes: Passes) -> bool:
    """Whether the first layer gives the same values and gradients both ways, up to rounding."""
    first = {kind: module for module, kind in reversed(list(_replaceable(lm)))}
    layer, turn = first["DecoderLayer"], first["RotaryEmbedding"]
    expected = _probe(layer, turn)
    _replace(lm, passes)
    found = _probe(layer, turn)
    plain(lm)
    close = _CLOSE.get(expected[0].dtype, _HALF_CLOSE)
    return all(float((a - b).norm()) <= close * float(a.norm()) for a, b in zip(expected, found, strict=True))


def _probe(layer: Any, turn: Any) -> list[Tensor]:
    """What a layer makes of made-up states, and the gradients of these and of what is trained in it."""
    weight: Tensor = linear_parts(layer.self_attn.q_proj).weight
    device, dtype = weight.device, weight.dtype
    generator = torch.Generator().manual_seed(0)
    x, pull = (torch.randn(1, 7, weight.shape[1], generator=generator).to(device, dtype) for _ in range(2))
    trained = [x.requires_grad_(), *(p for p in layer.parameters() if p.requires_grad)]
    segments = [Segment(size=4), Segment(size=2, after=0), Segment(size=1, after=0)]
    places = torch.tensor([[0, 1, 2, 3, 4, 5, 4]], device=device)
    with torch.enable_grad(), torch.autocast(device.type, torch.bfloat16, enabled=dtype == torch.bfloat16):
        made: Any = layer(x, position_embeddings=turn(x, places), **{PLAN: SegmentPlan(segments)})
    return [made.detach(), *torch.autograd.grad((made * pull).sum(), trained)]
