"""What stands between the products: norms, rotation by position, the gate of a feed-forward layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, silu


def normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """RMSNorm over the last dimension: on CUDA one kernel, which adds up in float32 and rounds once."""
    # Autocast would have half precision widened, and the result with it.
    with torch.autocast(x.device.type, enabled=False):
        return rms_norm(x, weight.shape, weight, eps)


def rotation(cos: Tensor, sin: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """For ``rotated``, from what transformers computes of the positions: both ``[1, T, dim]``, halves alike."""
    first, second = sin.chunk(2, -1)
    sin = torch.cat([-first, second], -1)
    return cos[0].unsqueeze(1).to(dtype), sin[0].unsqueeze(1).to(dtype)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """``x [T, heads, dim]`` turned by its position; ``cos`` and ``sin``: of ``rotation``."""
    found: Tensor = _Rotate.apply(x, cos, sin)  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
    return found


def gated(x: Tensor) -> Tensor:
    """silu(gate) * up for ``x``, which is gate and up side by side: ``[..., 2 n]`` to ``[..., n]``."""
    found: Tensor = _Gate.apply(x)  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
    return found


class _Rotate(torch.autograd.Function):
    """x cos + swap(x) sin. ``sin`` changes its sign from one half to the other, so the way back subtracts."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return (x * cos).addcmul_(swapped(x), sin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,), (cos, sin) = grads, ctx.saved_tensors
        return (grad * cos).addcmul_(swapped(grad), sin, value=-1), None, None


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        gate, up = x.chunk(2, -1)
        active = silu(gate)
        ctx.save_for_backward(x, active)
        return active * up

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (grad,), (x, active) = grads, ctx.saved_tensors
        gate, up = x.chunk(2, -1)
        out = torch.empty_like(x)
        of_gate, of_up = out.chunk(2, -1)
        torch.mul(grad, active, out=of_up)
        torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=of_gate)
        return out


def swapped(x: Tensor) -> Tensor:
    """The halves of the last dimension, the other way round."""
    first, second = x.chunk(2, -1)
    return torch.cat([second, first], -1)
