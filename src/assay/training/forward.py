"""Passes over packed samples: log-probs without gradient, and the gradient of an objective. Knows no optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import torch
from torch import Tensor

from .batch import PerToken, TrainSequence
from .clock import Clock
from .config import TrainerConfig
from .model import MicroBatch, TokenModel
from .objective import Metrics, Objective
from .packing import Row, micro_batches
from .policy import Policy
from .ranks import Ranks
from .table import Columns, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What the passes of one update, on all ranks, came to."""

    loss: float
    loss_tokens: int
    packed_tokens: int
    micro_batches: int
    terms: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """An update's samples as one rank passes them; the counts are those of all ranks."""

    parts: tuple[tuple[MicroBatch, Columns], ...]
    loss_tokens: int
    packed_tokens: int
    micro_batches: int


class Passes:
    """See the module."""

    def __init__(self, policy: Policy, config: TrainerConfig, ranks: Ranks) -> None:
        self._policy, self._config, self._ranks = policy, config, ranks
        self._device = policy.device

    def logprobs(self, model: TokenModel, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        """The log-probs of every response token, without gradient."""
        shares = self._shares(sequences)
        found: dict[int, list[float]] = {}
        with torch.no_grad():
            for rows in shares[self._ranks.rank]:
                micro = MicroBatch.of(rows or _smallest(shares), sequences, self._device, masked=False)
                with self._precision():
                    values, _ = model(micro)
                if rows:
                    for sample, value in zip(micro.samples, values.tolist(), strict=True):
                        found.setdefault(sample, []).append(value)
        everybody = {sample: values for share in self._ranks.gather(found) for sample, values in share.items()}
        return [tuple(everybody[i]) for i in range(len(sequences))]

    def laid_out(self, sequences: Sequence[TrainSequence], objective: Objective) -> LaidOut:
        """What this rank passes through the model for an update, on its device. Does not look at the weights."""
        dtype = torch.float64 if self._policy.compute == torch.float64 else torch.float32
        table = Table(sequences, objective.weights, device=self._device, dtype=dtype)
        # Samples without a token to learn from need no pass.
        live = [s for s in range(len(sequences)) if any(sequences[s].loss_mask)]
        shares = self._shares(sequences, live, whole=objective.whole_groups)
        parts: list[tuple[MicroBatch, Columns]] = []
        for rows in shares[self._ranks.rank]:
            # Without rows, a rank passes some sample at no weight: FSDP needs all ranks in every pass.
            used = rows or _smallest(shares)
            columns = table.columns.at(table.places([s for row in used for s in row.samples]))
            micro = MicroBatch.of(used, sequences, self._device, masked=True)
            parts.append((micro, columns if rows else columns.without_weight()))
        return LaidOut(
            parts=tuple(parts),
            loss_tokens=len(table),
            packed_tokens=sum(row.tokens for share in shares for micro in share for row in micro),
            micro_batches=sum(bool(micro) for share in shares for micro in share),
        )

    def forward_backward(self, laid: LaidOut, objective: Objective, clock: Clock) -> Update:
        """Add the gradient of the objective over these samples to the weights' own."""
        losses: list[float | Tensor] = []
        metrics: list[Metrics] = []
        for micro, columns in laid.parts:
            with clock.phase("forward"), self._precision():
                logprobs, entropy = self._policy.model(micro)
            with clock.phase("backward"):
                parts = objective.loss(columns, logprobs, entropy)
                parts.loss.backward()
            losses.append(parts.loss.detach())
            metrics.append(parts.metrics)
        return self._summed(losses, metrics, laid)

    def _summed(self, losses: list[Any], metrics: list[Metrics], laid: LaidOut) -> Update:
        # Only now: a number read off the device earlier would keep the next micro-batch waiting.
        own = (float(sum(loss.double() for loss in losses)), _on_cpu(reduce(add, metrics)))
        everybody = self._ranks.gather(own)
        return Update(
            loss=sum(loss for loss, _ in everybody),
            loss_tokens=laid.loss_tokens,
            packed_tokens=laid.packed_tokens,
            micro_batches=laid.micro_batches,
            terms=reduce(add, (part for _, part in everybody)).means(),
        )

    def _shares(
        self, sequences: Sequence[TrainSequence], only: Sequence[int] | None = None, *, whole: bool = False
    ) -> list[list[list[Row]]]:
        config = self._config
        return micro_batches(
            sequences,
            config.max_tokens_per_micro_batch,
            ranks=self._ranks.size,
            share=config.share_prompts,
            only=only,
            whole=whole,
        )

    def _precision(self) -> AbstractContextManager[Any]:
        """bfloat16 products over float32 weights. Spread over ranks, FSDP casts the weights as it gathers them."""
        half = self._policy.compute == torch.bfloat16 and not self._ranks.together
        return torch.autocast(self._device.type, torch.bfloat16, enabled=half)


def _smallest(shares: list[list[list[Row]]]) -> list[Row]:
    return [min((row for share in shares for micro in share for row in micro), key=lambda row: row.tokens)]


def _on_cpu(metrics: Metrics) -> Metrics:
    """Sums of a micro-batch, off the device, so that those of several ranks can be added."""
    assert is_dataclass(metrics)
    assert not isinstance(metrics, type)
    values = {f.name: getattr(metrics, f.name) for f in fields(metrics)}
    return replace(metrics, **{name: v.cpu() for name, v in values.items() if isinstance(v, Tensor)})
