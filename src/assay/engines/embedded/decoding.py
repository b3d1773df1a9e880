"""Rows that decode: they take a seat when their prompt is computed, and leave at the step that ends them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch
from torch import Tensor

from .forward import Runner
from .job import Job, Row
from .kv import Banks, KvShape, Seat
from .rows import Rows
from .sampling import Alternatives, broken, pick, token_logprobs

Sampled = tuple[int, float, Alternatives]
"""A token, its log-prob (0 where none was asked for) and the alternatives."""


class BrokenLogitsError(Exception):
    """The model gave no distribution for this row."""


class Decoder:
    """All samples that run.

    Args:
        shape: of the model's keys and values.
        most: most rows at the same time.
        alone: compute each row by itself.
    """

    def __init__(self, shape: KvShape, most: int, *, alone: bool) -> None:
        self.rows: dict[Row, None] = {}
        """In the order in which they sat down."""
        self.ready: deque[Job] = deque()
        """Jobs with a computed prompt and samples that have not begun."""
        self.banks = Banks(shape)
        self._shape = shape
        self._most = most
        self._alone = alone

    def drop(self, job: Job, *, wipe: bool = False) -> None:
        """Forget a job's samples, begun or not."""
        if job in self.ready:
            self.ready.remove(job)
        for row in [row for row in self.rows if row.job is job]:
            self.leave(row, wipe=wipe)

    def clear(self) -> None:
        """Forget everything at once, without touching what is computed."""
        self.ready.clear()
        self.rows.clear()
        self.banks = Banks(self._shape)

    def leave(self, row: Row, *, wipe: bool = False) -> None:
        """Give up the row's seat."""
        if row.seat is not None:
            self.banks.leave(row.seat, wipe=wipe)
            row.seat = None
        self.rows.pop(row, None)

    def openings(self) -> list[Job]:
        """The jobs whose next samples may begin now, one entry a sample, the earliest job first."""
        found: list[Job] = []
        free = self._most - len(self.rows)
        while self.ready and free > 0:
            job = self.ready[0]
            count = min(free, job.request.n - job.started)
            found += [job] * count
            free -= count
            if job.started + count < job.request.n:
                break
            self.ready.popleft()
        return found

    def sit(self, row: Row) -> None:
        """Give a row its seat, with the keys and values of its prompt."""
        row.seat = self.banks.seat(row.job.parts)
        self.rows[row] = None

    def step(self, runner: Runner) -> list[tuple[Row, Sampled | BrokenLogitsError]]:
        """One token for every row."""
        for row in self.rows:
            if row.seat is not None:
                row.seat = self.banks.make_room(row.seat)
        by_seat = {row.seat: row for row in self.rows}
        runs = [Rows(bank, 0, len(bank.seats)) for bank in self.banks]
        if not self._alone:
            return self._run(runner, runs, by_seat)
        single = [Rows(r.bank, i, i + 1) for r in runs for i in range(r.stop)]
        return [result for r in single for result in self._run(runner, [r], by_seat)]

    def _run(
        self, runner: Runner, runs: Sequence[Rows], by_seat: dict[Seat | None, Row]
    ) -> list[tuple[Row, Sampled | BrokenLogitsError]]:
        rows = [by_seat[seat] for r in runs for seat in r.bank.seats[r.start : r.stop]]
        logits = runner.decode(runs, [row.last for row in rows])
        return list(zip(rows, sample(rows, logits), strict=True))

    def sample_first(self, rows: Sequence[Row]) -> list[Sampled | BrokenLogitsError]:
        """The first token of rows whose prompts are computed."""
        logits = [row.job.first for row in rows if row.job.first is not None]
        if self._alone:
            return [s for row, own in zip(rows, logits, strict=True) for s in sample([row], own)]
        return sample(rows, torch.cat(logits)) if rows else []


def sample(rows: Sequence[Row], logits: Tensor) -> list[Sampled | BrokenLogitsError]:
    """A token for each row from its logits ``[rows, vocabulary]``. Each row's draw is taken in any case."""
    knobs = [row.job.settings.knobs for row in rows]
    tokens = pick(logits, knobs, [row.draws.random() for row in rows])
    tops = [row.job.settings.logprobs for row in rows]
    logprobs = [0.0] * len(rows)
    alternatives: list[Alternatives] = [()] * len(rows)
    asked = [i for i, top in enumerate(tops) if top is not None]
    if asked:
        most = max(top or 0 for top in tops)
        own, others = token_logprobs(logits[asked], [tokens[i] for i in asked], most)
        for place, i in enumerate(asked):
            logprobs[i], alternatives[i] = own[place], others[place][: tops[i]]
    return [
        BrokenLogitsError() if bad else (tokens[i], logprobs[i], alternatives[i])
        for i, bad in enumerate(broken(logits))
    ]
