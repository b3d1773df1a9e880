"""Weights from the ranks of a trainer to rollout engines: which way, out of plan and settings, and the publisher.

A card is named by its place among all GPUs of the cluster, as the plan counts them: no two nodes share a name. A pool
of engines lets running requests end first. Owns: the facts of a cluster, and Ray's object store as a way. Does not own:
the other ways (``rl.weights``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from assay.engines.base import Updatable
from assay.engines.pool.engine import PoolEngine
from assay.placement.plans import Claim, Mode, PlacementPlan

from ..ports import Published, Publisher
from ..weights.checkpoint import engine_dtype, splits, stored_otherwise
from ..weights.publish import ThroughFeed, ThroughFolder
from ..weights.way import Asked, Way, WayFacts, pick_way
from .engines import Recipe
from .rank_sends import SendOrders
from .seats import Seat
from .sender import Feeds
from .store import STORE, Shelf
from .trainer import RayTrainer

Shapes = Mapping[str, tuple[int, ...]]


class Taker(Protocol):
    """Also takes weights out of Ray's object store: log-prob actors."""

    async def take(self, weights: object, version: str) -> None: ...


class ThroughStore:
    """One copy in the main memory of each node, read in place by all its engines; ``takers`` get the same."""

    def __init__(
        self, trainer: RayTrainer, engines: Sequence[Updatable], shelf: Shelf, takers: Sequence[Taker] = ()
    ) -> None:
        self._trainer = trainer
        self._engines = engines
        self._shelf = shelf
        self._takers = takers

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        (reference,), size = await self._trainer.put()
        # The copy before is given up here, and with it its memory once no engine reads it.
        self._shelf.reference = reference
        await asyncio.gather(
            *(engine.update_weights(STORE + version, version) for engine in self._engines),
            *(taker.take(reference, version) for taker in self._takers),
        )
        return Published(version=version, bytes=size, seconds=time.perf_counter() - begin)


class FromStore:
    """``publish.Beside``: ``takers`` take the weights out of Ray's object store, however the engines get theirs."""

    def __init__(self, trainer: RayTrainer, takers: Sequence[Taker]) -> None:
        self._trainer = trainer
        self._takers = takers
        self._weights: Any = None

    async def prepare(self) -> None:
        (self._weights,), _ = await self._trainer.put()

    async def take(self, version: str) -> None:
        weights, self._weights = self._weights, None
        await asyncio.gather(*(taker.take(weights, version) for taker in self._takers))


def sleeps_without_files(mode: Mode, *, cards: bool) -> bool:
    """Without a card, an engine that sleeps can drop its weights only if it can read them again from files."""
    return mode != Mode.FULLY_ASYNC and not cards


def cluster_way(
    asked: Asked,
    plan: PlacementPlan,
    actor: Claim,
    rollout: Claim,
    recipe: Recipe,
    *,
    cards: bool,
    shapes: Shapes | None = None,
) -> Way:
    """The way that weights go.

    Args:
        cards: the trainer's weights are on GPUs, and not on simulated ones.
        shapes: of the trainer's weights, once they are known.

    Raises:
        InputError: see ``way.pick_way``.
    """
    sglang = recipe.kind == "sglang"
    facts = WayFacts(
        engine=recipe.kind,
        ray=True,
        ranks=tuple(frozenset(named(gpus)) for gpus in actor.engines) if cards else (),
        engines=tuple(named(gpus) for gpus in rollout.engines),
        parallel=splits(recipe.options),
        rereads=sleeps_without_files(plan.mode, cards=cards),
        stored_otherwise=stored_otherwise(str(recipe.options["model"]), shapes) if sglang and shapes else None,
    )
    return pick_way(asked, facts)


def named(gpus: Sequence[int]) -> tuple[str, ...]:
    """Names of cards."""
    return tuple(map(str, gpus))


async def equipped(
    trainer: RayTrainer,
    way: Way,
    shapes: Shapes,
    seats: Mapping[str, Sequence[Seat]],
    roles: tuple[str, str],
    orders: SendOrders,
) -> Feeds | None:
    """The feeds of the rollout engines, with ranks that are ready to send; None where weights go another way.

    Args:
        roles: the names of the trainer and of the rollout.
        orders: ``dtype`` is that of the engines.
    """
    if way not in ("tensor", "nccl"):
        return None
    ranks, engines = (seats[role] for role in roles)
    feeds = Feeds(
        trainer,
        way,
        shapes,
        [fillers(ranks, engine) if way == "tensor" else (0,) for engine in engines],
        [engine.place.node != ranks[0].place.node for engine in engines],
    )
    await feeds.equip(orders)
    return feeds


def fillers(ranks: Sequence[Seat], engine: Seat) -> tuple[int, ...]:
    """The ranks on the cards of an engine, in the order of its own."""
    on = {gpu: rank.index for rank in ranks for gpu in rank.gpus}
    return tuple(on[gpu] for gpu in engine.gpus)


def orders_for(recipe: Recipe, given: SendOrders) -> SendOrders:
    """What ranks are told: the type is that in which the engines compute."""
    return SendOrders(dtype=engine_dtype(recipe.options), bucket_bytes=given.bucket_bytes, limit_s=given.limit_s)


def cluster_publisher(
    way: Way,
    trainer: RayTrainer,
    rollout: PoolEngine,
    *,
    feeds: Feeds | None,
    shelf: Shelf,
    folder: Path,
) -> Publisher:
    """What publishes to the rollout engines. ``feeds``: theirs, where weights are sent; ``folder``: for all else."""
    takers = [] if trainer.forward is None else [trainer.forward]
    if way == "store":
        return ThroughStore(trainer, [rollout], shelf, takers)
    beside = FromStore(trainer, takers) if takers else None
    if feeds is not None:
        return ThroughFeed(trainer, [rollout], feeds, beside)
    return ThroughFolder(trainer, [rollout], folder, beside)
