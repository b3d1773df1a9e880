"""One step of the model over packed rows: token ids in, float32 logits out. Knows spans and seats, no requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, cast

import torch
from torch import Tensor

from .attention import PLAN, Plan
from .kv import KvShape
from .rows import DecodePlan, Rows
from .spans import Span, SpanPlan


class Runner:
    """The model, behind the two calls that generation needs. The model must already use packed attention."""

    def __init__(self, model: Any, shape: KvShape) -> None:
        self.model = model
        self.shape = shape

    def spans(self, spans: Sequence[Span], wanted: Sequence[int]) -> tuple[list[Tensor], list[Tensor | None]]:
        """Compute spans together.

        Returns for each the logits ``[wanted, vocabulary]`` of its last ``wanted`` tokens, and the slab if kept.
        """
        ids = list(chain.from_iterable(span.ids for span in spans))
        positions = list(chain.from_iterable(range(s.start, s.start + len(s.ids)) for s in spans))
        plan = SpanPlan(spans, self.shape, together=self.shape.device.type == "cuda")
        logits = self._forward(ids, positions, plan, list(_last(spans, wanted)))
        return list(logits.split(list(wanted))), plan.slabs()

    def decode(self, rows: Sequence[Rows], tokens: Sequence[int]) -> Tensor:
        """One token more for each row, in the order of ``rows``; the logits ``[rows, vocabulary]`` that follow it."""
        seats = [seat for r in rows for seat in r.bank.seats[r.start : r.stop]]
        positions = [seat.length for seat in seats]
        logits = self._forward(tokens, positions, DecodePlan(rows), list(range(len(seats))))
        for seat in seats:
            seat.length += 1
        return logits

    def _forward(self, ids: Sequence[int], positions: Sequence[int], plan: Plan, keep: list[int]) -> Tensor:
        return forward(self.model, self.shape.device, ids, positions, plan, keep)


def forward(
    model: Any, device: torch.device, ids: Sequence[int], positions: Sequence[int], plan: Plan, keep: list[int]
) -> Tensor:
    """Run packed tokens under a plan; the logits, float32, at the packed places ``keep``."""
    out = model(
        input_ids=torch.tensor([ids], device=device),
        position_ids=torch.tensor([positions], device=device),
        use_cache=False,
        logits_to_keep=torch.tensor(keep, dtype=torch.long, device=device),
        **{PLAN: plan},
    )
    return cast("Tensor", out.logits)[0].float()


def _last(spans: Sequence[Span], wanted: Sequence[int]) -> Iterator[int]:
    end = 0
    for span, count in zip(spans, wanted, strict=True):
        end += len(span.ids)
        yield from range(end - count, end)
