"""Rollouts that run ahead of training: the source of the fully asynchronous mode.

As many groups are in flight as the staleness gate allows; ``next`` takes the batch that is due. Owns: the tasks and the
buffer. Does not own: which groups make a batch (``staleness``), what a group is (``groups``).
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Sequence

from assay.core.errors import TrainingStopped
from assay.core.types import Json

from ..advantages.dead import Fate, fate
from ..cursor import Cursor
from ..ports import RolloutBatch
from ..rewards.failures import JudgeFailureAs, settle
from ..sample import Group, Prompt
from ..staleness import StalenessGate
from .config import RolloutConfig
from .groups import Groups
from .now import MOST_ROUNDS


class RolloutAhead:
    """See the module. ``prompt`` gives the prompt of an ordinal; ``version`` counts the steps trained before."""

    def __init__(
        self,
        groups: Groups,
        cursor: Cursor,
        prompt: Callable[[int], Prompt],
        config: RolloutConfig,
        *,
        max_staleness: int,
        version: int = 0,
        failure_as: JudgeFailureAs = "mask",
    ) -> None:
        self._groups = groups
        self._cursor = cursor
        self._prompt = prompt
        self._config = config
        self._failure_as: JudgeFailureAs = failure_as
        self._gate = StalenessGate(batch_size=config.rollout_batch_size, max_staleness=max_staleness, version=version)
        self._ordinals: dict[int, int] = {}
        """The prompt of each ticket that is not trained on yet."""
        self._tasks: dict[int, asyncio.Task[Group]] = {}
        self._finished: dict[int, Group] = {}
        self._dropped: list[Group] = []
        self._changed = asyncio.Event()

    async def next(self, step: int, version: str) -> RolloutBatch:  # noqa: ARG002
        """The batch that is due; the weights of the last one have been published. Other groups go on meanwhile.

        Raises:
            TrainingStopped: the filter drops all that is rolled out.
            AssayError: a rollout failed in a way that the next one would too.
        """
        self._gate.published()
        while True:
            self._start()
            self._collect()
            self._start()
            wanted = self._gate.wanted()
            if wanted.take:
                return self._taken(wanted.take)
            self._changed.clear()
            if not any(task.done() for task in self._tasks.values()):
                await self._changed.wait()

    def state(self) -> Json:
        """Prompts in flight or in the buffer are drawn again by a resumed run; those that a step has told are not."""
        dropped = (group.prompt.ordinal for group in self._dropped)
        return self._cursor.to_json(outstanding=(*self._ordinals.values(), *dropped))

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _start(self) -> None:
        for ordinal in self._cursor.draw(self._gate.open):
            ticket = self._gate.start()
            self._ordinals[ticket] = ordinal
            task = asyncio.create_task(self._groups.roll(self._prompt(ordinal)))
            task.add_done_callback(lambda _: self._changed.set())
            self._tasks[ticket] = task

    def _collect(self) -> None:
        for ticket in [ticket for ticket, task in self._tasks.items() if task.done()]:
            group = self._tasks.pop(ticket).result()
            if self._live(group):
                self._finished[ticket] = group
                self._gate.finish(ticket)
            else:
                self._dropped.append(group)
                self._gate.drop(ticket)
                del self._ordinals[ticket]
        if len(self._dropped) > MOST_ROUNDS * self._config.rollout_batch_size:
            raise TrainingStopped(
                f"{len(self._dropped)} groups in a row were dropped because all their rewards are equal: the task is "
                "too hard or too easy, or the judge always says the same"
            )

    def _live(self, group: Group) -> bool:
        if self._config.dynamic_sampling_filter == "none":
            return True
        return fate(settle(group, self._failure_as)) is Fate.LIVE

    def _taken(self, tickets: Sequence[int]) -> RolloutBatch:
        ages = self._gate.take(tuple(tickets))
        groups = tuple(self._finished.pop(ticket) for ticket in tickets)
        for ticket in tickets:
            del self._ordinals[ticket]
        self._start()
        dropped, self._dropped = tuple(self._dropped), []
        stats = {
            "prompt_length": statistics.fmean(len(group.samples[0].prompt_ids) for group in groups),
            "staleness": statistics.fmean(ages),
            "max_staleness": float(max(ages)),
            "ahead": float(len(self._tasks) + len(self._finished)),
        }
        return RolloutBatch(groups=groups, filtered=dropped, stats=stats)
