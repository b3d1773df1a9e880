"""Rollout engines and judges of a run: pools whose members are engines in actors, each in its seat.

A pool does what pools do everywhere: it routes, drains, sleeps and wakes by tags with a canary, retires an engine that
dies and builds another in its seat. Owns: which options an engine gets from the plan, and how weights reach it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from assay.core.errors import AssayError, StartError
from assay.engines.base import Engine
from assay.engines.catalog import engine_config
from assay.engines.feed import GROUP_ENVIRONMENT, Unsynced, WeightFeed
from assay.engines.instances import instance_engine
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.ray.actors import ActorWay
from assay.engines.ray.engine import RayEngine
from assay.engines.ray.letters import Lost
from assay.placement.plans import Claim
from assay.wire.genrm import InstanceSpec

from .actors import SeatBerth
from .following import Progress, Say
from .relay import serve
from .seats import Seat
from .sender import Feeds
from .store import STORE, Shelf

log = logging.getLogger(__name__)

_POLL_S, _ANSWER_S = 2.0, 5.0

Kind = Literal["embedded", "sglang", "fake"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which engine of the catalog, with which options, watched how; ``model`` is among the options."""

    kind: Kind = "embedded"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pool: PoolConfig = field(default_factory=PoolConfig)


class SeatEngine(RayEngine):
    """An engine in an actor in its seat.

    Args:
        feed: what it takes weights from that come in buckets; None: from nothing.
        start_s: most seconds of one stage of its start.
        say: told each of these stages.
    """

    def __init__(
        self,
        berth: SeatBerth,
        shelf: Shelf,
        *,
        model: str,
        name: str,
        feed: WeightFeed | None = None,
        start_s: float = 1800.0,
        say: Say = log.info,
    ) -> None:
        super().__init__(berth, model=model)
        self._seat_berth = berth
        self._shelf = shelf
        self._name = name
        self._feed = feed
        self._start_s = start_s
        self._say = say
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """As ``RayEngine.start``, and says how it goes.

        Raises:
            StartError: a stage took too long, too; names it, with the end of a log.
        """
        begin, own = time.monotonic(), Progress(self._name)
        starting = asyncio.ensure_future(super().start())
        try:
            while not (await asyncio.wait({starting}, timeout=_POLL_S))[0]:
                if await self._look(own):
                    self._say(f"{own.name}: {own.stage}, after {own.before_s:.1f} s of {own.before}")
                if own.seconds > self._start_s:
                    raise own.too_long(self._start_s, log_end=await self._log_end())
            await starting
        except StartError as error:
            raise StartError(f"{own.name} did not start (stage {own.stage!r}): {error}") from error
        finally:
            starting.cancel()
        self._say(f"{own.name}: ready after {time.monotonic() - begin:.1f} s")
        if self._feed is not None:
            self._serving = asyncio.ensure_future(serve(self._way(), self._feed))

    async def pid(self) -> int:
        """The process of its actor. Raises Lost."""
        return await self._way().call("pid")

    async def update_weights(self, source: str, version: str) -> None:
        """From a folder, from those on the shelf, or from the trainer's ranks.

        Raises:
            Unsynced: also where it was lost meanwhile: the weights that it had are gone with it.
        """
        try:
            if source.startswith(STORE):
                told = await self._way().call("take", self._shelf.reference, version)
                if told.error is not None:
                    raise told.error
            else:
                await super().update_weights(source, version)
        except Lost as error:
            raise Unsynced(f"it was lost while it took weights {version!r}: {error.detail}") from error

    async def held_bytes(self) -> int | None:
        """None on simulated GPUs: what a process without a card holds tells nothing of the card that it stands for."""
        return await super().held_bytes() if self.info.num_gpus else None

    def kill(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
        super().kill()

    def _way(self) -> ActorWay:
        if self._seat_berth.way is None:
            raise Lost(f"the actor of {self.info.model!r} has not started")
        return self._seat_berth.way

    async def _look(self, own: Progress) -> bool:
        """Whether there is news of its start."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                health = await self.health()
        except (AssayError, TimeoutError):
            return False
        if health.state == "dead":
            return False
        log_file = health.detail.get("log")
        own.log = log_file if isinstance(log_file, str) else own.log
        return own.enter(str(health.detail.get("stage") or health.state))

    async def _log_end(self) -> str:
        """Of the engine's own log where it has one, which ``Progress`` knows, else of its actor's."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                health = await self.health()
                told = health.detail.get("log_end")
                return told if isinstance(told, str) and told else await self._way().call("log_end")
        except (AssayError, TimeoutError):
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where engines are built: the placement group, the seats of all roles, and what is said to actors.

    ``feeds``: what the rollout engines take weights from, where a trainer sends them. ``start_s``, ``say``: see
    ``SeatEngine``.
    """

    group: Any
    seats: Mapping[str, Sequence[Seat]]
    shelf: Shelf
    feeds: Feeds | None = None
    log_level: str = "warning"
    start_s: float = 1800.0
    say: Say = log.info

    def engine(self, role: str, index: int, options: Mapping[str, Any], feed: WeightFeed | None = None) -> SeatEngine:
        """The engine of a seat, not started; ``kind`` is among the options."""
        shapes = None if feed is None else feed.shapes
        berth = SeatBerth(self.seats[role][index], self.group, options, self.log_level, shapes)
        name = f"engine {index} of {role!r}"
        return SeatEngine(
            berth,
            self.shelf,
            model=str(options.get("model")),
            name=name,
            feed=feed,
            start_s=self.start_s,
            say=self.say,
        )

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
    if site.feeds is not None:
        options["env"] = {**GROUP_ENVIRONMENT, **options.get("env", {})}
    engine_config(recipe.kind, options)
    pool = recipe.pool.model_copy(update={"size": len(claim.engines)})

    def build(index: int) -> Engine:
        feed = None if site.feeds is None else site.feeds.all[index]
        return site.engine(claim.name, index, {**options, "kind": recipe.kind}, feed)

    return PoolEngine(pool, build)


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
