"""Attention over blocks: segments of about one length that continue the same prompt, as one rectangle without a mask.

Queries stand at the left of their row, behind them what fills it up; the keys before them are the prompt's, the same
for all rows. So what a row must not see is all to the right of what it asks from, and causal attention aligned at the
lower right is exact: one kernel, no mask in memory. The keys of the prompt are expanded, not gathered, so that their
gradient is one sum over the rows, in one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from assay.engines.embedded.attention import visible

from .packing import Segment

_FUSED = (torch.float16, torch.bfloat16)
_SHORTEST = 0.6
"""The shortest segment of a block, as a share of the longest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Segments (indices) after the same one. ``longest``: tokens of the longest."""

    segments: tuple[int, ...]
    after: int | None
    longest: int


def fused(query: Tensor) -> bool:
    """Whether there is a kernel that needs no mask in memory for queries that begin after their keys."""
    return query.is_cuda and query.dtype in _FUSED


def blocks_of(segments: Sequence[Segment]) -> list[Block]:
    """The segments in blocks; each in one."""
    families: dict[int | None, list[int]] = {}
    for index, segment in enumerate(segments):
        families.setdefault(segment.after, []).append(index)
    found: list[Block] = []
    for after, members in families.items():
        members.sort(key=lambda index: (-segments[index].size, index))
        begin = 0
        for end in range(1, len(members) + 1):
            longest = segments[members[begin]].size
            if end == len(members) or segments[members[end]].size < _SHORTEST * longest:
                found.append(Block(segments=tuple(members[begin:end]), after=after, longest=longest))
                begin = end
    return found


class BlockPlan:
    """See the module and ``engines.embedded.attention.Plan``."""

    def __init__(self, segments: Sequence[Segment], blocks: Sequence[Block], device: torch.device) -> None:
        sizes = torch.tensor([segment.size for segment in segments])
        ends = sizes.cumsum(0)
        starts = ends - sizes
        self._blocks = blocks
        self._prompts = [None if b.after is None else slice(int(starts[b.after]), int(ends[b.after])) for b in blocks]
        places, back, done = list[Tensor](), torch.empty(int(ends[-1]), dtype=torch.long), 0
        for block in blocks:
            members, columns = torch.tensor(block.segments), torch.arange(block.longest)
            own = sizes[members].unsqueeze(1)
            # A row is filled up with its last token: nothing before it sees that, and what it asks is dropped.
            place = starts[members].unsqueeze(1) + torch.minimum(columns, own - 1)
            back[place] = (
                done + torch.arange(len(members)).unsqueeze(1) * block.longest + torch.minimum(columns, own - 1)
            )
            places.append(place.flatten())
            done += place.numel()
        self._places = [place.to(device, non_blocking=True) for place in places]
        self._back = back.to(device, non_blocking=True)
        self._masks: dict[tuple[int, int, int | None], Tensor] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        """``query [heads, T, dim]``, ``key`` and ``value [kv heads, T, dim]`` to ``[T, heads, dim]``."""
        del layer
        # Places first: a row of the gather is then all heads of a token, in one run of memory.
        query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        parts: list[Tensor] = []
        for block, places, prompt in zip(self._blocks, self._places, self._prompts, strict=True):
            groups = query.shape[1] // key.shape[1]
            q = _rows(query, places, block).transpose(1, 2)
            k, v = (_keys(t, places, block, prompt, groups) for t in (key, value))
            parts.append(self._one(q, k, v, scale, window).transpose(1, 2).flatten(0, 1))
        return torch.cat(parts).index_select(0, self._back)

    def _one(self, q: Tensor, k: Tensor, v: Tensor, scale: float | None, window: int | None) -> Tensor:
        """``[rows, heads, tokens, dim]``, the last of the keys under the last of the queries."""
        new, total = q.shape[2], k.shape[2]
        windowed = window is not None and total > window
        if new == total and not windowed:
            return scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
        if fused(q) and not windowed:
            return scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(new, total), scale=scale)
        name = (new, total, window if windowed else None)
        if name not in self._masks:
            self._masks[name] = visible(torch.arange(total - new, total, device=q.device), total, name[2])
        return scaled_dot_product_attention(q, k, v, attn_mask=self._masks[name], scale=scale)


def _rows(tensor: Tensor, places: Tensor, block: Block) -> Tensor:
    """``[T, heads, dim]`` to ``[rows, longest, heads, dim]``."""
    return tensor.index_select(0, places).unflatten(0, (len(block.segments), block.longest))


def _keys(tensor: Tensor, places: Tensor, block: Block, prompt: slice | None, groups: int) -> Tensor:
    """``[T, kv heads, dim]`` to ``[rows, heads, prompt + longest, dim]``, each head repeated for its group."""
    parts = [_rows(tensor, places, block)]
    if prompt is not None:
        parts.insert(0, tensor[prompt].expand(len(block.segments), -1, -1, -1))
    spread = [part.transpose(1, 2).unsqueeze(2).expand(-1, -1, groups, -1, -1) for part in parts]
    return torch.cat(spread, dim=3).flatten(1, 2)
