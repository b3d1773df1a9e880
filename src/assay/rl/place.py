"""What a run is given by the place where it runs, in one process (``local``) or on a cluster (``cluster``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.types import Json
from assay.engines.base import Engine
from assay.placement.plans import Phase
from assay.scoring.scorer import Scorer

from .ports import Publisher, Trainer
from .residency import Resident


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Trainer and judges have started; the rollout engine has not, so that what is wrong with rewards is told first."""

    trainer: Trainer
    extra: Json
    """What the checkpoint that the trainer goes on from kept for the loop."""
    engine: Engine
    """The rollout engine."""
    start_rollout: Callable[[], Awaitable[None]]
    judges: Mapping[str, Scorer] | None
    """By route key; None where the flags declare none: rewards come from elsewhere."""
    publisher: Publisher
    phases: Sequence[Phase]
    residents: Mapping[str, Resident]
    """Who sleeps and wakes, by role."""
    awake: tuple[str, ...]
    """Those of them that are awake once the rollout engine has started."""
