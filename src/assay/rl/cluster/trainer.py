"""The trainer's ranks behind the loop's port: the same call on all, the result of the first.

Where the plan gives ``reference`` and ``actor_fwd`` GPUs of their own (fully asynchronous), log-probs that a step needs
are asked of them first, so that the ranks only train. Elsewhere the ranks work them out themselves.
Owns: who is asked for what. Does not own: what a rank does (``rank``), what becomes of all when one fails (``crew``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.types import Json
from assay.engines.base import Tag
from assay.training.batch import PerToken, StepMetrics, TrainBatch, TrainSequence

from ..kl import differences
from .crew import Crew
from .following import Say, followed
from .rank import State
from .rank_sends import Sent

log = logging.getLogger(__name__)

_STAGES = 16
"""More than a start has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds after which something hangs."""

    start_s: float = 1800.0
    """Of one stage of the start."""
    train_s: float = 3600.0
    move_s: float = 3600.0
    """Of sleeping, waking, saving, and handing weights out."""


async def started(crew: Crew, rendezvous: str | None, limits: Limits, say: Say) -> list[State]:
    """Have all of a crew load their weights; their states. Raises AssayError: one did not; all have been ended."""
    joining = crew.all("join", rendezvous, timeout_s=limits.start_s * _STAGES)
    return await followed(crew, joining, stage_s=limits.start_s, say=say)


class Forward:
    """Ranks that compute log-probs, each on its own, of weights that they hold whole."""

    def __init__(self, crew: Crew, limits: Limits) -> None:
        self.crew = crew
        self._limits = limits

    async def start(self, say: Say) -> None:
        """Load the weights. Raises AssayError."""
        await started(self.crew, None, self._limits, say)

    async def logprobs(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        """Of every response token; samples are dealt out in turn."""
        size = len(self.crew.hands)
        shares = [(list(sequences[index::size]),) for index in range(size)]
        found = await self.crew.each("logprobs", shares, timeout_s=self._limits.train_s)
        return [found[index % size][index // size] for index in range(len(sequences))]

    async def take(self, weights: Any, version: str) -> None:
        """Take weights out of Ray's object store."""
        await self.crew.all("take", weights, version, timeout_s=self._limits.move_s)


class RayTrainer:
    """``ports.Trainer`` and ``residency.Resident``.

    Args:
        crew: the ranks of the actor.
        reference, forward: who else computes log-probs; None where the ranks do.
        needs_reference: whether the loss has a KL term.
        across: whether the ranks are on several nodes, and have to meet at an address.
    """

    def __init__(
        self,
        crew: Crew,
        limits: Limits,
        *,
        reference: Forward | None = None,
        forward: Forward | None = None,
        needs_reference: bool = False,
        across: bool = False,
    ) -> None:
        self.crew = crew
        self.reference = reference
        self.forward = forward
        self._limits = limits
        self._needs_reference = needs_reference
        self._across = across
        self._state: State | None = None

    async def start(self, say: Say = log.info) -> State:
        """Have the ranks meet, load weights, and, with ``load``, go on from a checkpoint.

        Args:
            say: told each stage of each rank.

        Raises:
            AssayError: why one did not; all have been ended.
        """
        begin = time.monotonic()
        first, limit = Crew(self.crew.hands[:1]), self._limits.start_s
        meeting = first.all("rendezvous", self._across, timeout_s=limit * _STAGES)
        place = (await followed(first, meeting, stage_s=limit, say=say))[0]
        told = await started(self.crew, place, self._limits, say)
        self._state = told[0]
        say(f"trainer: {len(told)} ranks are ready after {time.monotonic() - begin:.1f} s")
        for other in (self.reference, self.forward):
            if other is not None:
                await other.start(say)
        return told[0]

    @property
    def state(self) -> State:
        """Of the weights; ``extra`` is what a checkpoint kept for the loop."""
        if self._state is None:
            raise ValueError("the ranks have not been started")
        return self._state

    @property
    def weight_version(self) -> str:
        return self.state.weight_version

    async def step(self, batch: TrainBatch) -> StepMetrics:
        found = await self._filled(batch)
        told = await self.crew.all("step", found, timeout_s=self._limits.train_s)
        metrics, self._state = told[0]
        return metrics

    async def kl(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        if self.reference is None:
            return (await self.crew.all("kl", list(sequences), timeout_s=self._limits.train_s))[0]
        theirs = await self.reference.logprobs(sequences)
        return differences(sequences, await self._actor_logprobs(sequences), theirs)

    async def save(self, extra: Json) -> Path:
        return (await self.crew.all("save", extra, timeout_s=self._limits.move_s))[0]

    async def sleep(self, tags: frozenset[Tag]) -> int:  # noqa: ARG002
        """All of it, whatever the tag: a trainer has no cache that could stay. Bytes that came free on all cards."""
        return sum(await self.crew.all("sleep", timeout_s=self._limits.move_s))

    async def wake(self, tags: frozenset[Tag]) -> int:
        """For training; weights alone can be read where they are, so nothing moves for them."""
        return sum(await self.crew.all("wake", timeout_s=self._limits.move_s)) if "kv_cache" in tags else 0

    async def put(self) -> tuple[list[Any], int]:
        """The weights in Ray's object store: a list of the one reference, and their bytes."""
        return (await self.crew.all("put", timeout_s=self._limits.move_s))[0]

    async def outline(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        return (await self.crew.all("outline", timeout_s=self._limits.move_s))[0]

    async def handing(self, method: str, arguments: Sequence[Sequence[Any]]) -> list[Sent]:
        """A call of ``rank_sends.Sends`` on each rank, with arguments of its own."""
        return await self.crew.each(method, arguments, timeout_s=self._limits.move_s)

    async def export(self, folder: Path) -> int:
        """The weights as a folder that engines load; their bytes."""
        return (await self.crew.all("export", str(folder), timeout_s=self._limits.move_s))[0]

    async def close(self) -> None:
        """End all the actors."""
        for crew in (self.crew, *(other.crew for other in (self.reference, self.forward) if other is not None)):
            crew.close()

    async def _actor_logprobs(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        if self.forward is not None:
            return await self.forward.logprobs(sequences)
        return (await self.crew.all("logprobs", list(sequences), timeout_s=self._limits.train_s))[0]

    async def _filled(self, batch: TrainBatch) -> TrainBatch:
        """The batch with the log-probs that other actors can give."""
        sequences = list(batch.sequences)
        if self.forward is not None:
            own = await self.forward.logprobs(sequences)
            sequences = [replace(s, old_logprobs=o) for s, o in zip(sequences, own, strict=True)]
        if self.reference is not None and self._needs_reference:
            theirs = await self.reference.logprobs(sequences)
            sequences = [replace(s, reference_logprobs=r) for s, r in zip(sequences, theirs, strict=True)]
        return TrainBatch(sequences=tuple(sequences))
