"""How weights go from the ranks of a trainer to rollout engines: the facts, out of plan and settings, and the feeds.

A card is named by its place among all GPUs of the cluster, as the plan counts them: no two nodes share a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.placement.plans import Claim, Plan

from ..local.sync import engine_dtype, splits, stored_otherwise
from ..weight_sync import Asked, SyncFacts, Way, pick_way
from .engines import Recipe
from .feeding import Feeds
from .publish import sleeps_without_files
from .seats import Seat
from .sending import SendOrders
from .trainer import RayTrainer

Shapes = Mapping[str, tuple[int, ...]]


def pick(
    asked: Asked, plan: Plan, actor: Claim, rollout: Claim, recipe: Recipe, *, cards: bool, shapes: Shapes | None = None
) -> Way:
    """The way that weights go.

    Args:
        cards: the trainer's weights are on GPUs, and not on simulated ones.
        shapes: of the trainer's weights, once they are known.

    Raises:
        InputError: see ``weight_sync.pick_way``.
    """
    sglang = recipe.kind == "sglang"
    facts = SyncFacts(
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
