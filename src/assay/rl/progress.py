"""What a run tells while it works, as small events; who shows them (``cli``) is told nothing else.

Owns: the events, and the thin wrappers that tell them. The loop and its parts know nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from assay.core.deadline import Deadline
from assay.placement.plans import Phase

from .residency import Moved, Residency, Resident
from .rewards.base import RewardFunction
from .sample import Reward, Sample
from .step import StepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBegan:
    """A phase of the step that is made now."""

    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersJudged:
    """Some more answers have a reward, or will have none."""

    answers: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMade:
    """A step is done; -1 is what was measured before the first one."""

    step: int
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


Event: TypeAlias = "PhaseBegan | AnswersJudged | StepMade"
Tell: TypeAlias = Callable[[Event], None]


class ToldSteps:
    """``Observer`` that tells every step. It stands behind all that add metrics."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    async def after(self, result: StepResult) -> Mapping[str, float]:
        self._tell(StepMade(step=result.step, metrics=dict(result.metrics)))
        return {}

    async def close(self) -> None: ...


class ToldResidency(Residency):
    """A residency that tells which phase the run enters."""

    def __init__(self, residents: Mapping[str, Resident], *, awake: Sequence[str] = (), tell: Tell) -> None:
        super().__init__(residents, awake=awake)
        self._tell = tell

    async def enter(self, phase: Phase) -> tuple[Moved, ...]:
        self._tell(PhaseBegan(phase=str(phase.kind)))
        return await super().enter(phase)


class ToldReward:
    """A reward function that tells how many answers it has judged."""

    def __init__(self, reward: RewardFunction, tell: Tell) -> None:
        self._reward = reward
        self._tell = tell

    @property
    def grouped(self) -> bool:
        return self._reward.grouped

    async def start(self) -> None:
        """See ``RewardFunction.start``."""
        await self._reward.start()

    async def score(self, samples: Sequence[Sample], deadline: Deadline) -> tuple[Reward, ...]:
        rewards = await self._reward.score(samples, deadline)
        failed = sum(reward.failure is not None for reward in rewards)
        self._tell(AnswersJudged(answers=len(rewards), failed=failed))
        return rewards

    async def close(self) -> None:
        await self._reward.close()
