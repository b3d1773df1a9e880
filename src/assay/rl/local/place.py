"""The parts of a run that lives in this process: trainer, engines, judges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.engines.base import Offloadable
from assay.placement.plans import Phase, PhaseKind, PlacementPlan
from assay.scoring.scorer import Scorer

from ..algorithm import AlgorithmConfig
from ..config import TrainConfig
from ..judge_service import JudgeOnDuty, judge_service
from ..place import Place
from ..residency import Resident
from .publish import local_publisher, local_way, sent_weights
from .rollout import rollout_engine
from .trainer import LocalTrainer

if TYPE_CHECKING:
    from assay.training.trainer import Trainer

IN_PROCESS = (
    Phase(kind=PhaseKind.GENERATE, awake=("rollout", "actor"), about="rollout; each sample is judged as it ends"),
    Phase(kind=PhaseKind.TRAIN, awake=("rollout", "actor"), about="training"),
    Phase(kind=PhaseKind.SYNC, awake=("rollout", "actor"), about="weights of the actor to the rollout"),
)
"""A step where nothing competes for memory: one process on a CPU, or on a card with room for all."""


@asynccontextmanager
async def in_this_process(config: TrainConfig, plan: PlacementPlan | None) -> AsyncGenerator[Place]:
    """The parts; leaving closes them.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    async with AsyncExitStack() as stack:
        own = await asyncio.to_thread(_trainer, config)
        trainer = LocalTrainer(own, config.settings(AlgorithmConfig).objective(config.rollout_max_response_len))
        stack.push_async_callback(trainer.close)
        way = await asyncio.to_thread(local_way, config, plan, own)
        feed = await sent_weights(config, trainer, way, stack)
        scorers, judges = await _judges(config, stack)
        engine = rollout_engine(config, plan, feed)
        stack.push_async_callback(engine.close)
        residents: dict[str, Resident] = {"actor": trainer}
        if isinstance(engine, Offloadable):
            residents["rollout"] = engine
        residents |= judges
        yield Place(
            trainer=trainer,
            extra=own.extra,
            engine=engine,
            start_rollout=engine.start,
            judges=scorers,
            publisher=local_publisher(trainer, engine, feed, config),
            phases=_in_process(judges, deferred=config.deferred) if plan is None else plan.phases,
            residents=residents,
            awake=tuple(residents),
        )


def _trainer(config: TrainConfig) -> Trainer:
    from assay.training.trainer import Trainer

    return Trainer(config.trainer())


async def _judges(
    config: TrainConfig, stack: AsyncExitStack
) -> tuple[Mapping[str, Scorer] | None, Mapping[str, JudgeOnDuty]]:
    """The judges that the flags declare; none: rewards come from elsewhere."""
    if not config.specs():
        return None, {}
    return await stack.enter_async_context(judge_service(config))


def _in_process(judges: Mapping[str, JudgeOnDuty], *, deferred: bool) -> tuple[Phase, ...]:
    """The phases where all are awake all the time; ``deferred``: the batch is judged as a whole."""
    phases = IN_PROCESS
    if deferred:
        generate, *rest = IN_PROCESS
        judge = replace(generate, kind=PhaseKind.JUDGE, about="judges score the whole batch")
        phases = (replace(generate, about="rollout of the whole batch, without rewards"), judge, *rest)
    return tuple(replace(phase, awake=(*phase.awake, *judges)) for phase in phases)
