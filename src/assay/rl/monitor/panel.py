"""A judge that the monitor asks: which items, how many at a time, and how many of its judgments fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.deadline import Deadline
from assay.core.types import Failure, Item, Outcome
from assay.judges.base import Judge
from assay.judges.refusals import takes
from assay.scoring.batch import Judging
from assay.voting.plan import VotePlan

FIXED = VotePlan(k=1, orders="fixed")
"""Candidates are shown as they stand in the item, so that swapping them swaps what is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """``backend`` belongs to whoever gave it. Judgments are seeded anew at every look: a verdict out of a cache says
    what the judge was, not what it is.
    """

    judge: Judge
    backend: Judging
    timeout_s: float = 300.0
    concurrency: int = 32

    def takes(self, item: Item) -> bool:
        """Whether the judge can judge such an item at all."""
        return takes(self.judge, item)

    async def ask(self, items: Sequence[Item], *, seed: int, fixed: bool = False) -> list[Outcome]:
        """The outcome of each item, in order.

        Raises:
            InputError: the judge takes no such item, or its service refuses everything.
        """
        places = asyncio.Semaphore(self.concurrency)

        async def one(item: Item) -> Outcome:
            async with places:
                deadline = Deadline.after(self.timeout_s)
                plan = FIXED if fixed else None
                return (await self.backend.judge(self.judge, item, deadline, seed=seed, plan=plan)).outcome

        return list(await asyncio.gather(*map(one, items)))


def failures(outcomes: Sequence[Outcome]) -> int:
    """How many of the judgments failed."""
    return sum(isinstance(outcome, Failure) for outcome in outcomes)
