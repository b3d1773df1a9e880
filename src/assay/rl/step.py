"""What a step leaves behind, and who looks at it: records, trackers, evaluation, the monitor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .advantages.group import GroupAdvantages
from .sample import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """A step that was made. ``advantages`` are in the order of ``groups``; ``metrics`` have names like ``reward/mean``;
    those under ``time/`` and ``memory/`` tell of this machine, all others follow from data and seeds.
    """

    step: int
    groups: tuple[Group, ...]
    advantages: tuple[GroupAdvantages, ...]
    filtered: tuple[Group, ...] = ()
    weight_version: str = ""
    """Of the weights after the step."""
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


class Observer(Protocol):
    """Looks at every step, after the rollout engines have the new weights."""

    async def after(self, result: StepResult) -> Mapping[str, float]:
        """Further metrics of the step; the observers after this one see them.

        Raises:
            TrainingStopped: the run must not go on; a checkpoint is saved first.
        """
        ...

    async def close(self) -> None: ...
