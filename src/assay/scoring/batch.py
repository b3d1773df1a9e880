"""Judging many items: bounded concurrency, every judgment accounted for, whoever the judgments come from.

Owns the fan-out. Does not own where items come from (``data``), where rows go (``runfile``) or what is shown (``cli``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, InputError
from assay.core.types import Item, Json
from assay.judges.base import Judge, content_hash
from assay.judges.parts import parts
from assay.voting.plan import VotePlan

from .judgment import Judgment
from .runfile import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Which model answers and how it is asked, as far as that is known here; goes into the header of a run."""

    model: str
    weight_version: str
    sampling: Mapping[str, Json] = field(default_factory=dict[str, Json])
    reask: int | None = None
    meta: str = ""
    """The identity of the meta RM that chooses among the votes."""


class Judging(Protocol):
    """Whoever can judge: a ``Scorer`` in this process, or a service behind HTTP (``RemoteScorer``)."""

    async def start(self, plan: VotePlan | None = None) -> RunFacts:
        """Be ready to judge, under ``plan``. Raises StartError or InputError."""
        ...

    async def close(self) -> None: ...

    async def judge(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, plan: VotePlan | None = None
    ) -> Judgment:
        """Judge the whole item, however the judge looks at its candidates."""
        ...

    async def judge_part(
        self,
        judge: Judge,
        item: Item,
        deadline: Deadline,
        *,
        seed: int = 0,
        candidate: int | None = None,
        plan: VotePlan | None = None,
    ) -> Judgment:
        """Judge one part of an item (``judges.parts``); ``candidate`` says which."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What one judgment is about: an item as the judge takes it, and the hash of what the judge will look at."""

    item: Item
    candidate: int | None
    content_hash: str

    @property
    def subject(self) -> Subject:
        return self.item.id, self.candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An item that this judge cannot take, and why."""

    item_id: str
    reason: str


def units(judge: Judge, items: Iterable[Item]) -> Iterator[Unit | Skipped]:
    """The judgments that ``judge`` needs for ``items``, in order."""
    for item in items:
        try:
            pieces = [
                Unit(
                    item=piece,
                    candidate=index if judge.per_candidate else None,
                    content_hash=content_hash(judge, piece),
                )
                for index, piece in enumerate(parts(judge, item))
            ]
        except InputError as error:
            yield Skipped(item_id=item.id, reason=str(error))
            continue
        yield from pieces


async def judge_units(
    backend: Judging,
    judge: Judge,
    work: Iterable[Unit],
    *,
    concurrency: int,
    deadline_s: float,
    seed: int,
    on_judgment: Callable[[Judgment], None],
    plan: VotePlan | None = None,
) -> None:
    """Judge every unit, ``concurrency`` at a time, drawing from ``work`` only when there is room.

    ``on_judgment`` runs in the event loop, once per unit, in the order of completion. What it raises (a full disk)
    stops the run and passes through; so does cancellation. Judgments in flight are then aborted.
    """
    source = iter(work)

    async def worker() -> None:
        for unit in source:
            on_judgment(
                await backend.judge_part(
                    judge, unit.item, Deadline.after(deadline_s), seed=seed, candidate=unit.candidate, plan=plan
                )
            )

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except* AssayError as errors:
        # Every worker that fails fails for the same reason; one clear error beats a group of copies.
        raise errors.exceptions[0] from None
