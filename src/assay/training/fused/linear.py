"""Linear layers that share their input, as one product, with their adapters (LoRA: W x + scale B A x).

Weights that lie behind each other in memory (``laid``) are multiplied as one matrix; others, such as FSDP gathers, one
by one. Every type is cast once: what is stored wider than the product is cast here, not by autocast at each use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from ..adapter import LinearParts, base_of, linear_parts

T = TypeVar("T")


def joint(x: Tensor, layers: Sequence[nn.Module]) -> Tensor:
    """What the layers make of ``x [..., inputs]``, side by side: ``[..., sum of outputs]``, in the type of products."""
    parts = [linear_parts(layer) for layer in layers]
    shape = _Shape.of(parts, product_dtype(x))
    biases = [part.bias for part in parts] if shape.biased else []
    adapters = shape.scale is not None
    given = [
        *(part.weight for part in parts),
        *biases,
        *(part.down for part in parts if adapters),
        *(part.up for part in parts if adapters),
    ]
    found: Tensor = _Joint.apply(x, shape, *given)  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
    return found


def product_dtype(x: Tensor) -> torch.dtype:
    """What products of ``x`` are computed in here: autocast's type, where that is on."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def fits(layers: Sequence[nn.Module]) -> bool:
    """Whether ``joint`` can compute these: plain linear layers with one kind of adapter, biases in all or in none."""
    plain = all(type(base_of(layer)) is nn.Linear for layer in layers)
    return plain and len({_kind(linear_parts(layer)) for layer in layers}) == 1


def lay(layers: Sequence[nn.Module]) -> None:
    """Move the weights of these layers behind each other in memory, where they are not already, nor spread by FSDP."""
    parts = [linear_parts(layer) for layer in layers]
    with torch.no_grad():
        for name in ("weight", "bias", "down", "up"):
            tensors = [cast("Tensor", getattr(part, name)) for part in parts if getattr(part, name) is not None]
            if len(laid(tensors)) > 1 and not isinstance(tensors[0], DTensor):
                pieces = torch.cat([t.data for t in tensors]).split([t.shape[0] for t in tensors])
                for tensor, piece in zip(tensors, pieces, strict=True):
                    tensor.data = piece


def laid(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """One tensor over all of them where they lie behind each other in memory; else the tensors themselves."""
    if len(tensors) < 2 or isinstance(tensors[0], DTensor):
        return tensors
    first = tensors[0]
    storage, place = first.untyped_storage().data_ptr(), first.data_ptr()
    for tensor in tensors:
        same = tensor.untyped_storage().data_ptr() == storage and tensor.dtype == first.dtype
        if not same or tensor.data_ptr() != place or not tensor.is_contiguous():
            return tensors
        place += tensor.numel() * tensor.element_size()
    return [first.as_strided((sum(t.shape[0] for t in tensors), *first.shape[1:]), first.stride())]


def _kind(part: LinearParts) -> tuple[bool, float | None, int | None]:
    return part.bias is not None, part.scale, None if part.down is None else part.down.shape[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """``outputs``: of each layer. ``ranks``, ``scale``: of the adapters; none and None where there are none."""

    outputs: tuple[int, ...]
    ranks: tuple[int, ...]
    biased: bool
    scale: float | None
    dtype: torch.dtype

    @classmethod
    def of(cls, parts: Sequence[LinearParts], dtype: torch.dtype) -> _Shape:
        biased, scale, _ = _kind(parts[0])
        outputs = tuple(part.weight.shape[0] for part in parts)
        ranks = tuple(part.down.shape[0] for part in parts if part.down is not None)
        return cls(outputs=outputs, ranks=ranks, biased=biased, scale=scale, dtype=dtype)

    def kinds(self, given: Sequence[T]) -> tuple[Sequence[T], Sequence[T], Sequence[T], Sequence[T]]:
        """What ``joint`` gave for each layer: of the weights, the biases, and the adapters' ways down and up."""
        n = len(self.outputs)
        first, second, third, fourth = (given[i * n : (i + 1) * n] for i in range(4))
        return (first, second, third, fourth) if self.biased else (first, (), second, third)

    def cast(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """In the type of products, joined where they are ``laid``."""
        return [t.to(self.dtype) for t in laid(tensors)]

    def each(self, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        """The layers' own parts of what ``cast`` gave."""
        return _rows(tensors[0], self.outputs) if len(tensors) < len(self.outputs) else tensors


class _Joint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: _Shape, *given: Tensor) -> Tensor:
        weights, biases, downs, ups = shape.kinds(given)
        rows = x.reshape(-1, x.shape[-1]).to(shape.dtype)
        base, down, up = shape.cast(weights), shape.cast(downs), shape.cast(ups)
        bias = torch.cat(shape.cast(biases)) if biases else None
        out, inner = _product(rows, base, bias), None
        if shape.scale is not None:
            inner = _product(rows, down, None)
            parts = zip(_columns(out, shape.outputs), _columns(inner, shape.ranks), shape.each(up), strict=True)
            for part, h, b in parts:
                part.addmm_(h, b.t(), alpha=shape.scale)
        ctx.shape, ctx.counts, ctx.types = shape, (len(base), len(down)), [t.dtype for t in given]
        ctx.x_shape, ctx.x_dtype = x.shape, x.dtype
        ctx.save_for_backward(rows, inner, *base, *down, *up)
        return out.view(*x.shape[:-1], out.shape[1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        shape: _Shape = ctx.shape
        rows, inner, *saved = ctx.saved_tensors
        bases, downs = ctx.counts
        base, down, up = saved[:bases], saved[bases : bases + downs], saved[bases + downs :]
        grad = grads[0].reshape(-1, grads[0].shape[-1])
        wanted, types = shape.kinds(ctx.needs_input_grad[2:]), shape.kinds(ctx.types)
        of_x = _back(grad, base, None) if ctx.needs_input_grad[0] else None
        of_weights = _cut(grad.t() @ rows, types[0], shape.outputs) if any(wanted[0]) else [None] * len(types[0])
        of_biases = _cut(grad.sum(0), types[1], shape.outputs) if any(wanted[1]) else [None] * len(types[1])
        of_adapters: list[Tensor] = []
        if shape.scale is not None:
            of_inner, of_up = _through(grad, inner, shape.each(up), shape)
            of_x = None if of_x is None else _back(of_inner, down, of_x)
            of_down = _cut(of_inner.t() @ rows, types[2], shape.ranks)
            of_adapters = [*of_down, *_cut(of_up, types[3], shape.outputs)]
        of_x = None if of_x is None else of_x.to(ctx.x_dtype).view(ctx.x_shape)
        return of_x, None, *of_weights, *of_biases, *of_adapters


def _product(rows: Tensor, weights: Sequence[Tensor], bias: Tensor | None) -> Tensor:
    """``rows [T, inputs]`` times every weight ``[outputs, inputs]``, side by side."""
    if len(weights) == 1:
        weight = weights[0].t()
        return torch.mm(rows, weight) if bias is None else torch.addmm(bias, rows, weight)
    sizes = [weight.shape[0] for weight in weights]
    out = rows.new_empty(rows.shape[0], sum(sizes))
    for part, weight in zip(_columns(out, sizes), weights, strict=True):
        torch.mm(rows, weight.t(), out=part)
    return out if bias is None else out.add_(bias)


def _back(grad: Tensor, weights: Sequence[Tensor], onto: Tensor | None) -> Tensor:
    """The gradient of the rows, from that of ``_product``; added to ``onto``, where that is given."""
    for part, weight in zip(_columns(grad, [weight.shape[0] for weight in weights]), weights, strict=True):
        onto = torch.mm(part, weight) if onto is None else onto.addmm_(part, weight)
    assert onto is not None
    return onto


def _through(grad: Tensor, inner: Tensor, ups: Sequence[Tensor], shape: _Shape) -> tuple[Tensor, Tensor]:
    """The gradients of ``inner`` and of the adapters' ways up, one under the other: ``[sum of outputs, rank]``."""
    scale = cast("float", shape.scale)
    of_inner, of_up = torch.empty_like(inner), grad.new_empty(grad.shape[1], shape.ranks[0])
    grads, inners, of_inners = (
        _columns(grad, shape.outputs),
        _columns(inner, shape.ranks),
        _columns(of_inner, shape.ranks),
    )
    parts = zip(grads, ups, inners, of_inners, _rows(of_up, shape.outputs), strict=True)
    for g, up, h, of_h, of_b in parts:
        of_h.addmm_(g, up, beta=0, alpha=scale)
        of_b.addmm_(g.t(), h, beta=0, alpha=scale)
    return of_inner, of_up


def _cut(grad: Tensor, types: Sequence[torch.dtype], sizes: Sequence[int]) -> Sequence[Tensor]:
    """The layers' own gradients, in the type that they are stored in."""
    return _rows(grad.to(types[0]), sizes)


def _rows(tensor: Tensor, sizes: Sequence[int]) -> Sequence[Tensor]:
    return tensor.split(list(sizes)) if len(sizes) > 1 else [tensor]


def _columns(tensor: Tensor, sizes: Sequence[int]) -> Sequence[Tensor]:
    return tensor.split(list(sizes), 1) if len(sizes) > 1 else [tensor]
