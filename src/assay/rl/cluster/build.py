"""The parts of a run on a Ray cluster, from a plan: a placement group, ranks, engines, and how weights get to them.

Owns which part gets which setting, and the order of starting: the trainer first, which then sleeps unless it shares its
GPUs with nobody; engines after it, one role after the other, since engines on one card look at what is free of it.
Does not own the run around them: data, rewards and the loop are the same in one process.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.core.errors import InputError
from assay.engines.base import Engine, Offloadable
from assay.engines.pool.engine import PoolEngine
from assay.placement.plans import PlacementPlan
from assay.training.config import TrainerConfig
from assay.wire.genrm import InstanceSpec

from ..algorithm import AlgorithmConfig
from ..ports import Publisher
from ..residency import EVERYTHING, Resident
from ..weights.way import Asked, Way
from .actors import start_rank
from .crew import Crew
from .engines import Recipe, Site, judge_engine, located, rollout_pool
from .group import reserved
from .publish import Shapes, cluster_publisher, cluster_way, equipped, orders_for
from .rank import RankOrders, State
from .rank_sends import SendOrders
from .store import Shelf
from .trainer import Forward, Limits, RayTrainer

log = logging.getLogger(__name__)

ACTOR, ROLLOUT, REFERENCE, ACTOR_FWD = "actor", "rollout", "reference", "actor_fwd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What the plan does not say."""

    trainer: TrainerConfig
    published: Path
    """Folder through which weights go to engines, where they go through one; on several nodes on shared storage."""
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    longest: int = 1024
    """Most tokens of an answer."""
    rollout: Recipe = field(default_factory=Recipe)
    judge: Recipe = field(default_factory=Recipe)
    """Of all judges; the model is each instance's own."""
    judges: Mapping[str, InstanceSpec] = field(default_factory=dict[str, InstanceSpec])
    """By route key, as the plan's claims."""
    weight_sync: Asked = "auto"
    sending: SendOrders = field(default_factory=SendOrders)
    """Of weights that are sent in buckets; the type is that of the engines."""
    limits: Limits = field(default_factory=Limits)
    placement_timeout_s: float = 300.0
    rank_threads: int | None = None
    """Of torch in each rank on the CPU; None leaves torch's own choice."""
    log_level: str = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterParts:
    """The trainer has started; ``rollout`` and ``judges`` have not: whoever serves them starts and closes them."""

    plan: PlacementPlan
    trainer: RayTrainer
    state: State
    """Of the trainer as it started; ``extra`` is what a checkpoint kept for the loop."""
    rollout: PoolEngine
    judges: Mapping[str, Engine]
    publisher: Publisher

    @property
    def awake(self) -> tuple[str, ...]:
        """The roles that are to be awake when the first step begins."""
        return self.plan.phases[0].awake

    @property
    def residents(self) -> dict[str, Resident]:
        """Everybody who sleeps and wakes, by role."""
        judges = {key: engine for key, engine in self.judges.items() if isinstance(engine, Offloadable)}
        return {ACTOR: self.trainer, ROLLOUT: self.rollout, **judges}

    async def start_engines(self, roles: Sequence[str] | None = None) -> None:
        """Start the judges and then the rollout; each role sleeps before the next starts, unless it is to be awake.

        Args:
            roles: those to start, where others are started elsewhere (a judge service starts its judges).

        Raises:
            AssayError: one did not start.
        """
        for role, engine in {**self.judges, ROLLOUT: self.rollout}.items():
            if roles is not None and role not in roles:
                continue
            await engine.start()
            if role not in self.awake and isinstance(engine, Offloadable):
                await engine.sleep(EVERYTHING)

    async def close_engines(self) -> None:
        """Closing twice is fine."""
        for engine in (self.rollout, *self.judges.values()):
            await engine.close()


@asynccontextmanager
async def cluster_parts(
    settings: ClusterSettings, plan: PlacementPlan, *, say: Callable[[str], None] = log.info
) -> AsyncGenerator[ClusterParts]:
    """The parts, on the cluster that this process is connected to; leaving ends their actors.

    Args:
        say: told how the start goes.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    _check(settings, plan)
    async with AsyncExitStack() as stack:
        group, seats = await stack.enter_async_context(reserved(plan, timeout_s=settings.placement_timeout_s, say=say))
        shelf = Shelf()
        site = Site(
            group=group,
            seats=seats,
            shelf=shelf,
            log_level=settings.log_level,
            start_s=settings.limits.start_s,
            say=say,
        )
        trainer = _trainer(settings, site)
        stack.push_async_callback(trainer.close)
        say(f"trainer: {len(trainer.crew.hands)} ranks start")
        state = await trainer.start(say)
        shapes = await trainer.outline()
        way = _way(settings, plan, cards=_on_cards(state), shapes=shapes)
        roles, orders = (ACTOR, ROLLOUT), orders_for(settings.rollout, settings.sending)
        site = replace(site, feeds=await equipped(trainer, way, shapes, seats, roles, orders))
        say(f"weights go to {ROLLOUT!r} by {way}")
        if ACTOR not in plan.phases[0].awake:
            begin = time.monotonic()
            freed = await trainer.sleep(EVERYTHING)
            say(f"trainer: asleep after {time.monotonic() - begin:.1f} s, {freed / 2**30:.1f} GiB freed")
        rollout = rollout_pool(plan.claims[ROLLOUT], settings.rollout, site)
        judges = {
            key: judge_engine(plan.claims[key], spec, settings.judge, site) for key, spec in settings.judges.items()
        }
        parts = ClusterParts(
            plan=plan,
            trainer=trainer,
            state=state,
            rollout=rollout,
            judges=judges,
            publisher=cluster_publisher(
                way, trainer, rollout, feeds=site.feeds, shelf=shelf, folder=settings.published.absolute()
            ),
        )
        stack.push_async_callback(parts.close_engines)
        yield parts


def _check(settings: ClusterSettings, plan: PlacementPlan) -> None:
    """The plan was made of the same flags. Raises InputError."""
    told = {key: spec.num_gpus for key, spec in settings.judges.items()}
    planned = {key: len(plan.claims[key].gpus) for key in plan.judges}
    if told != planned:
        raise InputError(
            f"the judges' GPUs are {told} and those of the plan {planned}: make the plan of the same flags"
        )
    if settings.weight_sync != "auto":
        # What the places alone decide is told before anything starts; the rest once the trainer knows its weights.
        _way(settings, plan, cards=settings.trainer.device != "cpu")


def _trainer(settings: ClusterSettings, site: Site) -> RayTrainer:
    """Ranks in their seats, and log-prob actors where the plan has seats for them; not started."""
    training = _absolute(settings.trainer)
    seats = site.seats[ACTOR]

    def orders(config: TrainerConfig, rank: int, size: int) -> RankOrders:
        return RankOrders(
            rank=rank,
            size=size,
            trainer=config,
            algorithm=settings.algorithm,
            longest=settings.longest,
            threads=settings.rank_threads,
            timeout_s=settings.limits.train_s,
        )

    def forward(role: str, model: str) -> Forward | None:
        if role not in site.seats:
            return None
        own = {"hf_checkpoint": model, "ref_load": None, "lora_rank": 0, "reference": "none", "load": None}
        config = training.model_copy(update=own)
        hands = [start_rank(seat, site.group, orders(config, 0, 1), site.log_level) for seat in site.seats[role]]
        return Forward(Crew(hands), settings.limits)

    ranks = [start_rank(seat, site.group, orders(training, seat.index, len(seats)), site.log_level) for seat in seats]
    return RayTrainer(
        Crew(ranks),
        settings.limits,
        reference=forward(REFERENCE, training.ref_load or training.hf_checkpoint),
        forward=forward(ACTOR_FWD, training.hf_checkpoint),
        needs_reference=settings.algorithm.use_kl_loss,
        across=len({seat.place.node for seat in seats}) > 1,
    )


def _way(settings: ClusterSettings, plan: PlacementPlan, *, cards: bool, shapes: Shapes | None = None) -> Way:
    claims = plan.claims
    return cluster_way(
        settings.weight_sync, plan, claims[ACTOR], claims[ROLLOUT], settings.rollout, cards=cards, shapes=shapes
    )


def _on_cards(state: State) -> bool:
    return state.cards


def _absolute(config: TrainerConfig) -> TrainerConfig:
    """Paths as they are for processes that run elsewhere."""
    found = {name: os.path.abspath(path) for name in ("save", "load") if (path := dict(config)[name]) is not None}
    models = {name: located(path) for name in ("hf_checkpoint", "ref_load") if (path := dict(config)[name]) is not None}
    return config.model_copy(update=found | models)
