"""One judge asked for rewards: equal questions in flight are one call, "come back later" is obeyed.

A local scorer does the first itself; in front of HTTP it saves the request. Does not own what a verdict is worth
(``judge``), re-asking after a text without a verdict (``scoring``), nor the retries of the service's client.
"""

from __future__ import annotations

import asyncio
import random

from assay.client.retry import wait_s
from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Item, Outcome
from assay.judges.base import Judge, content_hash
from assay.scoring.batch import Judging
from assay.scoring.dedup import SingleFlight
from assay.voting.plan import VotePlan

LATER = frozenset({FailureKind.OVERLOADED, FailureKind.ASLEEP})
"""Failures after which the same question may be asked again: nothing was judged."""

_THEIRS = frozenset({FailureKind.TIMEOUT, FailureKind.CANCELLED})
"""Failures that belong to whoever made the call that we joined."""


class Asker:
    """Asks ``backend`` about items, always by the same judge, plan and seed."""

    def __init__(self, judge: Judge, backend: Judging, *, plan: VotePlan | None = None, seed: int = 0) -> None:
        self.judge = judge
        self.backend = backend
        self._plan = plan
        self._seed = seed
        self._flights: SingleFlight[Outcome] = SingleFlight()
        self._random = random.Random()

    def content(self, item: Item) -> str:
        """The hash of what the judge looks at.

        Raises:
            InputError: the item lacks what the judge needs.
        """
        try:
            return content_hash(self.judge, item)
        except InputError as error:
            raise InputError(
                f"{error}. The question of a sample is metadata['question'], else its prompt; its gold answer is "
                "metadata['label'], else its label"
            ) from error

    async def ask(self, item: Item, deadline: Deadline) -> Outcome:
        """The outcome for the whole item; a judgment that fails does not raise.

        Raises:
            InputError: the item lacks what the judge needs, or the service refuses what it would refuse for all items.
        """
        key = self.content(item)
        while True:
            try:
                async with asyncio.timeout(deadline.timeout):
                    outcome, joined = await self._flights.run(key, lambda: self._call(item, deadline))
            except TimeoutError:
                detail = f"judge {self.judge.name!r} had not answered when the deadline of the reward passed"
                return Failure(kind=FailureKind.TIMEOUT, detail=detail)
            if joined and isinstance(outcome, Failure) and outcome.kind in _THEIRS and not deadline.expired:
                continue
            return outcome

    async def _call(self, item: Item, deadline: Deadline) -> Outcome:
        attempt = 0
        while True:
            judgment = await self.backend.judge(self.judge, item, deadline, seed=self._seed, plan=self._plan)
            outcome = judgment.outcome
            if not isinstance(outcome, Failure) or outcome.kind not in LATER:
                return outcome
            wait = wait_s(attempt, outcome.retry_after, self._random)
            if wait >= deadline.left:
                return outcome
            await asyncio.sleep(wait)
            attempt += 1
