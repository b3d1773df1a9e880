"""Attention over packed segments in one call of FlashAttention's kernel for many lengths (CUDA, half precision).

The keys of a segment that continues a prompt are the prompt's and its own, one after the other, so the keys are
gathered into such runs first. Causal attention of that kernel is aligned at the lower right, which is just what such a
segment sees. Nothing is padded, whatever the lengths, and the number of calls does not depend on how many segments
there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .packing import Segment

Kernel: TypeAlias = "Callable[[Tensor, Tensor, Tensor, Runs, float | None], Tensor]"
"""``query [T, heads, dim]``, ``key`` and ``value [K, kv heads, dim]`` to ``[T, heads, dim]``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Where each segment's queries and keys begin: ``[segments + 1]`` each, 32 bit, and the longest of both."""

    queries: Tensor
    keys: Tensor
    longest_query: int
    longest_key: int


def flash(query: Tensor, key: Tensor, value: Tensor, runs: Runs, scale: float | None) -> Tensor:
    """The kernel that torch has."""
    found: Sequence[Any] = torch.ops.aten._flash_attention_forward(
        query, key, value, runs.queries, runs.keys, runs.longest_query, runs.longest_key, 0.0, True, False, scale=scale
    )
    return found[0]


def takes(query: Tensor, window: int | None) -> bool:
    """Whether the kernel is there for such queries."""
    return (
        query.is_cuda
        and query.dtype in (torch.float16, torch.bfloat16)
        and window is None
        and query.shape[-1] % 8 == 0
        and query.shape[-1] <= 256
    )


class VarlenPlan:
    """See the module and ``engines.embedded.attention.Plan``. Its queries must be such as the kernel ``takes``."""

    def __init__(self, segments: Sequence[Segment], device: torch.device, kernel: Kernel = flash) -> None:
        self._kernel = kernel
        sizes = torch.tensor([segment.size for segment in segments])
        before = torch.tensor([0 if s.after is None else segments[s.after].size for s in segments])
        query_ends, key_ends = sizes.cumsum(0), (sizes + before).cumsum(0)
        self._runs = Runs(
            queries=_from_zero(query_ends, device),
            keys=_from_zero(key_ends, device),
            longest_query=int(sizes.max()),
            longest_key=int((sizes + before).max()),
        )
        self._spread = _Spread.of(segments, query_ends - sizes, key_ends - sizes, device) if before.any() else None

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        """``query [heads, T, dim]``, ``key`` and ``value [kv heads, T, dim]`` to ``[T, heads, dim]``."""
        del layer, window
        query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        if self._spread is not None:
            key, value = self._spread(key), self._spread(value)
        return self._kernel(query, key, value, self._runs, scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spread:
    """Tokens into runs of keys, and gradients back: a prompt's are summed over its segments in float32, in one order.

    ``places [K]``: the token of each key. ``own [T]``: the key that a token is in its own segment. ``shared``: of each
    prompt that is continued, its tokens and the keys that they are elsewhere, ``[segments after it, tokens]``.
    """

    places: Tensor
    own: Tensor
    shared: tuple[tuple[slice, Tensor], ...]

    @classmethod
    def of(cls, segments: Sequence[Segment], tokens: Tensor, keys: Tensor, device: torch.device) -> _Spread:
        """``tokens``, ``keys``: where each segment's own tokens begin among tokens and among keys."""
        starts, ends = tokens.tolist(), keys.tolist()
        places, own = list[Tensor](), list[Tensor]()
        shared: dict[int, list[int]] = {}
        for index, segment in enumerate(segments):
            if segment.after is not None:
                size = segments[segment.after].size
                places.append(torch.arange(starts[segment.after], starts[segment.after] + size))
                shared.setdefault(segment.after, []).append(ends[index] - size)
            places.append(torch.arange(starts[index], starts[index] + segment.size))
            own.append(torch.arange(ends[index], ends[index] + segment.size))
        return cls(
            places=torch.cat(places).to(device, non_blocking=True),
            own=torch.cat(own).to(device, non_blocking=True),
            shared=tuple(
                (slice(starts[p], starts[p] + size), _rectangle(firsts, size).to(device, non_blocking=True))
                for p, firsts in shared.items()
                for size in (segments[p].size,)
            ),
        )

    def __call__(self, tensor: Tensor) -> Tensor:
        """``[T, heads, dim]`` to ``[K, heads, dim]``."""
        found: Tensor = _Gather.apply(tensor, self)  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
        return found


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, spread: _Spread) -> Tensor:
        ctx.spread = spread
        return tensor.index_select(0, spread.places)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (grad,), spread = grads, ctx.spread
        found = grad.index_select(0, spread.own)
        for tokens, keys in spread.shared:
            elsewhere = grad.index_select(0, keys.flatten()).unflatten(0, keys.shape)
            exact = torch.promote_types(grad.dtype, torch.float32)
            found[tokens].add_(elsewhere.sum(0, dtype=exact))
        return found, None


def _rectangle(firsts: Sequence[int], size: int) -> Tensor:
    """``[firsts, size]``: runs that begin there."""
    return torch.tensor(firsts).unsqueeze(1) + torch.arange(size)


def _from_zero(ends: Tensor, device: torch.device) -> Tensor:
    return torch.cat([torch.zeros(1, dtype=ends.dtype), ends]).to(torch.int32).to(device, non_blocking=True)
