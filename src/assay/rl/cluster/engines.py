"""Rollout engines and judges of a run: pools whose members are engines in actors, each in its seat.

A pool does what pools do everywhere: it routes, drains, sleeps and wakes by tags with a canary, retires an engine that
dies and builds another in its seat. Owns: which options an engine gets from the plan, and how weights reach it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from assay.engines.base import Engine
from assay.engines.catalog import engine_config
from assay.engines.instances import instance_engine
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.ray.actors import ActorWay
from assay.engines.ray.engine import RayEngine
from assay.engines.ray.letters import Lost
from assay.placement.plans import Claim
from assay.wire.genrm import InstanceSpec

from .actors import SeatBerth
from .seats import Seat

STORE = "ray-object-store:"
"""What a source of weights begins with that are in Ray's object store; the version follows."""

Kind = Literal["embedded", "sglang", "fake"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which engine of the catalog, with which options, watched how; ``model`` is among the options."""

    kind: Kind = "embedded"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pool: PoolConfig = field(default_factory=PoolConfig)


@dataclass(slots=True)
class Shelf:
    """The weights in Ray's object store that were published last, also for engines that are built later."""

    reference: Any = None


class SeatEngine(RayEngine):
    """An engine in an actor in its seat."""

    def __init__(self, berth: SeatBerth, shelf: Shelf, *, model: str) -> None:
        super().__init__(berth, model=model)
        self._seat_berth = berth
        self._shelf = shelf

    async def pid(self) -> int:
        """The process of its actor. Raises Lost."""
        return await self._way().call("pid")

    async def update_weights(self, source: str, version: str) -> None:
        """From a folder, or those on the shelf."""
        if not source.startswith(STORE):
            await super().update_weights(source, version)
            return
        told = await self._way().call("take", self._shelf.reference, version)
        if told.error is not None:
            raise told.error

    async def held_bytes(self) -> int | None:
        """None on simulated GPUs: what a process without a card holds tells nothing of the card that it stands for."""
        return await super().held_bytes() if self.info.num_gpus else None

    def _way(self) -> ActorWay:
        if self._seat_berth.way is None:
            raise Lost(f"the actor of {self.info.model!r} has not started")
        return self._seat_berth.way


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where engines are built: the placement group, the seats of all roles, and what is said to actors."""

    group: Any
    seats: Mapping[str, Sequence[Seat]]
    shelf: Shelf
    log_level: str = "warning"

    def engine(self, role: str, index: int, options: Mapping[str, Any]) -> SeatEngine:
        """The engine of a seat, not started; ``kind`` is among the options."""
        berth = SeatBerth(self.seats[role][index], self.group, options, self.log_level)
        return SeatEngine(berth, self.shelf, model=str(options.get("model")))

    def backups(self, role: str) -> int:
        """Most engines of a role on one node."""
        return max(Counter(seat.place.node for seat in self.seats[role]).values())


def rollout_pool(claim: Claim, recipe: Recipe, site: Site) -> PoolEngine:
    """The rollout engines, not started.

    Raises:
        InputError: an option that the engine does not take.
    """
    options: dict[str, Any] = {**recipe.options, "model": located(str(recipe.options["model"]))}
    if recipe.kind == "sglang":
        of_plan = {"mem_fraction_static": claim.fraction, "num_gpus": len(claim.engines[0])}
        options = {**of_plan, "backups_on_host": site.backups(claim.name), **options}
    engine_config(recipe.kind, options)
    pool = recipe.pool.model_copy(update={"size": len(claim.engines)})
    return PoolEngine(pool, lambda index: site.engine(claim.name, index, {**options, "kind": recipe.kind}))


def judge_engine(claim: Claim, spec: InstanceSpec, recipe: Recipe, site: Site) -> Engine:
    """The engines of one judge, not started. As ``rollout_pool``; the instance's own options win."""
    # The plan has decided the share, or that there is none; engines other than SGLang take memory as they need it.
    share = claim.fraction if recipe.kind == "sglang" else None
    config = spec.engine.model_copy(update={"mem_fraction_static": share})
    return instance_engine(
        replace(spec, engine=config, model_path=located(spec.model_path)),
        recipe.kind,
        recipe.options,
        first_gpu=0,
        processes=True,
        pool=recipe.pool,
        host=lambda index, options: site.engine(claim.name, index, options),
    )


def located(model: str) -> str:
    """A folder by its whole path, since actors have another working directory; names of models stay names."""
    return os.path.abspath(model) if Path(model).is_dir() else model
