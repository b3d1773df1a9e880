"""The columns of one update: everything that a loss knows about its tokens besides what the model says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, compress

import torch
from torch import Tensor

from assay.core.errors import InputError

from .batch import PerToken, TrainSequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """One entry per token that the loss is over; ``[N]`` for an update, ``[R]`` for a micro-batch of it."""

    sequence: Tensor
    """Index of the sample in the update (long)."""
    weights: Tensor
    advantages: Tensor
    old: Tensor | None
    """None: as the policy is at this very pass."""
    reference: Tensor | None
    rollout: Tensor | None

    def at(self, places: Tensor) -> Columns:
        """The entries at ``places``."""
        values: dict[str, Tensor | None] = {f.name: getattr(self, f.name) for f in fields(self)}
        return Columns(**{name: None if v is None else v[places] for name, v in values.items()})  # pyright: ignore[reportArgumentType]

    def without_weight(self) -> Columns:
        """The same tokens, counting for nothing."""
        return Columns(
            sequence=self.sequence,
            weights=torch.zeros_like(self.weights),
            advantages=self.advantages,
            old=self.old,
            reference=self.reference,
            rollout=self.rollout,
        )


class Table:
    """The columns of an update, and where each sample's tokens are in them.

    Args:
        sequences: the samples; only their tokens with loss mask are in the table, in order.
        weights: from a mask and sample indices, both ``[N]``, to the weight of each token.
        device: where the columns are.
        dtype: theirs.
    """

    def __init__(
        self,
        sequences: Sequence[TrainSequence],
        weights: Callable[[Tensor, Tensor], Tensor],
        *,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        counts = [sum(s.loss_mask) for s in sequences]
        self._ends = [0, *accumulate(counts)]
        self._device, self._dtype, self._sequences = device, dtype, sequences
        index = torch.repeat_interleave(torch.arange(len(sequences)), torch.tensor(counts))
        self.columns = Columns(
            sequence=index.to(device),
            weights=weights(torch.ones_like(index, dtype=torch.bool), index).to(device=device, dtype=dtype),
            advantages=self._advantages(counts),
            old=self._column("old_logprobs", [s.old_logprobs for s in sequences]),
            reference=self._column("reference_logprobs", [s.reference_logprobs for s in sequences]),
            rollout=self._column("rollout_logprobs", [s.rollout_logprobs for s in sequences]),
        )

    def __len__(self) -> int:
        return self._ends[-1]

    def places(self, samples: Sequence[int]) -> Tensor:
        """Where the tokens of these samples are, one sample after the other."""
        runs = (range(self._ends[s], self._ends[s + 1]) for s in samples)
        return torch.tensor(list(chain.from_iterable(runs)), dtype=torch.long, device=self._device)

    def _advantages(self, counts: list[int]) -> Tensor:
        given = [s.advantage for s in self._sequences]
        if any(isinstance(each, tuple) for each in given):
            return self._tensor([s.advantages() for s in self._sequences])
        each = torch.tensor(given, dtype=self._dtype)
        return each.repeat_interleave(torch.tensor(counts)).to(self._device)

    def _column(self, name: str, values: Sequence[PerToken | None]) -> Tensor | None:
        given = [v for v in values if v is not None]
        if not given:
            return None
        if len(given) < len(values):
            raise InputError(f"{name}: {len(given)} of {len(values)} sequences have them; give them to all or to none")
        return self._tensor(given)

    def _tensor(self, values: Sequence[Sequence[float]]) -> Tensor:
        kept = chain.from_iterable(compress(row, s.loss_mask) for s, row in zip(self._sequences, values, strict=True))
        return torch.tensor(list(kept), dtype=self._dtype, device=self._device)
