"""The loop of a run out of its settings, gone on where a checkpoint says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.placement.plans import PlacementPlan
from assay.training import folders
from assay.training.saving import SavingConfig

from .algorithm import AlgorithmConfig
from .build_source import build_source
from .config import TrainConfig
from .cursor import Cursor
from .loop import Loop, LoopConfig, LoopParts
from .memory import Memory
from .place import Place
from .prompts import Row
from .residency import Residency
from .rewards.budget import FailureBudget
from .rollout.config import RolloutConfig
from .rollout.groups import Groups
from .sampler import Sampler


def build_loop(
    config: TrainConfig,
    plan: PlacementPlan | None,
    rows: Sequence[Row],
    place: Place,
    sampler: Sampler,
    residency: Residency,
) -> Loop:
    """The loop, with all that it drives. Records of steps that are made again go."""
    rollout = config.settings(RolloutConfig)
    memory = Memory(budget=FailureBudget(max_rate=config.max_judge_failure_rate), max_dead_steps=config.max_dead_steps)
    cursor = Cursor(rows=len(rows), seed=config.rollout_seed, shuffle=config.rollout_shuffle)
    if config.load is not None:
        memory.restore(place.extra)
        cursor.restore(memory.source)
        # Before the records of what is made again go: a checkpoint without its records must not be gone on from.
        folders.go_back(config.checkpoints, Path(config.load))
    answering = sampler.answering(rollout)
    groups = Groups(answering, rollout, sampler.tokens, sampler.rewards.inline)
    parts = LoopParts(
        phases=place.phases,
        source=build_source(config, plan, groups, rows, cursor=cursor, hook=sampler.rewards.processed),
        trainer=place.trainer,
        publisher=place.publisher,
        residency=residency,
        scoring=sampler.rewards.batch(answering, rollout),
    )
    settings = LoopConfig(
        num_rollout=config.num_rollout,
        batching=config.settings(AlgorithmConfig).batching(config.rollout_max_response_len),
        judge_failure_as=config.judge_failure_as,
        saving=config.settings(SavingConfig),
        saves=True,
    )
    return Loop(parts, settings, memory)
