"""A batch that is rolled out when it is asked for: the source of the colocate modes.

Groups are accepted in the order of their prompts, whoever ends first, so that which prompts a step trains on follows
from data and seeds alone. Owns: over-sampling, the filter, what is done with answers that were not needed.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.core.errors import TrainingStopped
from assay.core.types import Json

from ..advantages.dead import Fate, fate
from ..cursor import Cursor
from ..ports import RolloutBatch
from ..rewards.failures import JudgeFailureAs, settle
from ..sample import Group, Prompt, Sample
from .config import RolloutConfig
from .groups import Groups

MOST_ROUNDS = 50
"""After so many times the batch size without a batch, the filter will never be satisfied."""


@dataclass(slots=True)
class _Flying:
    ordinal: int
    task: asyncio.Task[Group]


@dataclass(slots=True)
class _Round:
    """One batch while it is made."""

    kept: list[Group] = field(default_factory=list[Group])
    dropped: list[Group] = field(default_factory=list[Group])
    flying: list[_Flying] = field(default_factory=list[_Flying])


class RolloutNow:
    """See the module. ``prompt`` gives the prompt of an ordinal."""

    def __init__(
        self,
        groups: Groups,
        cursor: Cursor,
        prompt: Callable[[int], Prompt],
        config: RolloutConfig,
        *,
        failure_as: JudgeFailureAs = "mask",
    ) -> None:
        self._groups = groups
        self._cursor = cursor
        self._prompt = prompt
        self._config = config
        self._failure_as: JudgeFailureAs = failure_as
        self._begun: dict[int, dict[int, Sample]] = {}
        """Aborted answers by prompt and index, to be gone on with."""

    async def next(self, step: int, version: str) -> RolloutBatch:  # noqa: ARG002
        """The next batch.

        Raises:
            TrainingStopped: the filter drops all that is rolled out.
        """
        made, size = _Round(), self._config.rollout_batch_size
        try:
            while len(made.kept) < size:
                self._start(made)
                first = made.flying.pop(0)
                group = await first.task
                (made.kept if self._live(group) else made.dropped).append(group)
                if len(made.dropped) > MOST_ROUNDS * size:
                    raise TrainingStopped(
                        f"{len(made.dropped)} groups in a row were dropped because all their rewards are equal: "
                        "the task is too hard or too easy, or the judge always says the same"
                    )
        finally:
            await self._abort(made)
        return RolloutBatch(groups=tuple(made.kept), filtered=tuple(made.dropped), stats=_stats(made.kept))

    def state(self) -> Json:
        return self._cursor.to_json()

    async def close(self) -> None:
        """Nothing is in flight between batches."""

    def _start(self, made: _Round) -> None:
        """As many prompts in flight as may be; without a filter no more than the batch still needs."""
        needed = self._config.rollout_batch_size - len(made.kept)
        wanted = max(needed, (self._config.over_sampling_batch_size or 0) - len(made.kept)) - len(made.flying)
        for ordinal in self._cursor.draw(wanted) if wanted > 0 else ():
            work = self._groups.roll(self._prompt(ordinal), self._begun.pop(ordinal, None), self._keeper())
            made.flying.append(_Flying(ordinal, asyncio.create_task(work)))
        made.flying.sort(key=lambda one: one.ordinal)

    def _keeper(self) -> Callable[[Sample], None] | None:
        if not self._config.partial_rollout:
            return None

        def keep(sample: Sample) -> None:
            self._begun.setdefault(sample.group_index, {})[sample.index] = sample

        return keep

    def _live(self, group: Group) -> bool:
        unjudged = all(sample.reward is None for sample in group.samples)
        if self._config.dynamic_sampling_filter == "none" or unjudged:
            return True
        return fate(settle(group, self._failure_as)) is Fate.LIVE

    async def _abort(self, made: _Round) -> None:
        """Those that are not needed any more go back to where they were drawn from."""
        for one in made.flying:
            one.task.cancel()
        await asyncio.gather(*(one.task for one in made.flying), return_exceptions=True)
        self._cursor.give_back(one.ordinal for one in made.flying)
        for group in (*made.kept, *made.dropped):
            self._begun.pop(group.prompt.ordinal, None)


def _stats(groups: list[Group]) -> dict[str, float]:
    lengths = [len(group.samples[0].prompt_ids) for group in groups]
    return {"prompt_length": statistics.fmean(lengths)} if lengths else {}
