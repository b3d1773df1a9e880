"""What the loop needs from the parts around it, as small protocols: they may live in this process or in Ray actors.

Owns: the words. Does not own: any implementation (``local`` has those of one process, ``cluster`` those of Ray).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from assay.core.types import Json
from assay.training.batch import PerToken, StepMetrics, TrainBatch, TrainSequence

from .sample import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutBatch:
    """The groups of one step, in the order of their prompts.

    ``filtered``: groups that were rolled out and then dropped because they teach nothing. ``stats``: numbers to log.
    """

    groups: tuple[Group, ...]
    filtered: tuple[Group, ...] = ()
    stats: Mapping[str, float] = field(default_factory=dict[str, float])


class Source(Protocol):
    """Where batches come from: a rollout that is made now, or a buffer that rollouts fill meanwhile."""

    async def next(self, step: int, version: str) -> RolloutBatch:
        """The batch of ``step``; ``version`` names the weights that it will be trained into."""
        ...

    def state(self) -> Json:
        """What a resumed run needs: which prompts are used up. Samples in flight are not: they are drawn again."""
        ...

    async def close(self) -> None: ...


class Trainer(Protocol):
    """The trainer, on however many ranks."""

    @property
    def weight_version(self) -> str: ...

    async def step(self, batch: TrainBatch) -> StepMetrics:
        """Train on a batch."""
        ...

    async def kl(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        """log p(policy) - log p(reference) of every trained token (the estimator k1), one tuple per sequence."""
        ...

    async def save(self, extra: Json) -> Path:
        """Save a checkpoint. Raises OutputError; earlier checkpoints are untouched."""
        ...

    async def export(self, folder: Path) -> int:
        """The weights as a folder that engines load, replaced whole; their bytes. Raises OutputError."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Weights that reached the rollout engines."""

    version: str
    bytes: int
    seconds: float


class Publisher(Protocol):
    """Takes the policy's weights to the rollout engines."""

    async def publish(self) -> Published:
        """Every completion that starts after this returns carries the new version."""
        ...


class Scoring(Protocol):
    """Rewards for a whole batch at once (defer-swap)."""

    async def score(self, groups: Sequence[Group]) -> tuple[Group, ...]: ...
