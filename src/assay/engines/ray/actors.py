"""The actors in which engines live, and how they are called. Requests do not go this way: Ray's calls, at about a
millisecond each, place and supervise; the lines themselves are sockets (``line``).

``EngineHost`` runs one engine of the catalog. ``Keeper`` runs one instance: a pool whose members are engine hosts.
Both are desks to the outside, so that an ingress replica talks to a pool as the pool talks to its engines.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.core import log as logs
from assay.core.errors import AssayError, StartError
from assay.engines.base import Engine
from assay.engines.catalog import EngineConfig, build_engine, engine_config
from assay.engines.hosted.codec import dump_error, load_error
from assay.engines.instances import instance_engine
from assay.wire.genrm import InstanceSpec

from .cluster import nodes, own_address, own_gpus, own_node_id
from .desk import Desk
from .engine import RayEngine
from .estate import NAMESPACE, Estate
from .kept import KeptEngine, Memo
from .letters import LOOPBACK, Door, Lost
from .placement import Place

log = logging.getLogger(__name__)

CALLS_AT_A_TIME = 10_000
"""Calls that an actor works on at a time: each line holds on to one."""
_TOLD = 300
_RECALL_S, _RECALL_MOST_S = 0.2, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a keeper is to run, and where."""

    estate: Estate
    spec: InstanceSpec
    places: tuple[Place, ...]
    group: Any
    """Ray's placement group; None where no engine needs a bundle."""


class _DeskActor:
    """What every actor with a desk in it answers."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        # Before any weights are loaded: what is frozen is never given back.
        settle()

    async def door(self, node_id: str) -> Door:
        """Where the desk is to be found from that node."""
        return await self._desk.door(LOOPBACK if node_id == own_node_id() else own_address())

    async def pid(self) -> int:
        """Its process."""
        return os.getpid()

    async def hold(self) -> None:
        """Does not return: whoever holds on learns of the actor's end."""
        await asyncio.Event().wait()


class EngineHost(_DeskActor):
    """One engine, in an actor's process.

    Args:
        options: its options in the catalog, ``kind`` among them.
        place: where it was put, and with it the GPUs that it may see; none: it runs on the CPU.
        build: makes the engine, not started, out of its settings.

    Raises:
        StartError: Ray has moved its bundle since, and the GPUs beside it are unknown.
    """

    def __init__(
        self,
        options: dict[str, Any],
        place: Place,
        log_level: str,
        build: Callable[[EngineConfig], Engine] = build_engine,
    ) -> None:
        logs.setup(log_level)
        devices = _devices(place)
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        settings = dict(options)
        kind = str(settings.pop("kind"))
        if kind == "sglang":
            settings["gpu_ids"] = tuple(int(one) if one.isdecimal() else one for one in devices)
        config = engine_config(kind, settings)
        super().__init__(Desk(lambda: build(config), own_memory=kind == "embedded"))


def _devices(place: Place) -> tuple[str, ...]:
    """The GPUs of the engine in this actor. Ray shows an actor the one of its own bundle, wherever that is by now."""
    if len(place.devices) < 2:
        return own_gpus() if place.devices else ()
    here = nodes()[own_node_id()].name
    if here != place.node:
        raise StartError(f"its bundle was on {place.node!r} and is on {here!r} now; start the service again")
    return place.devices


class Keeper(_DeskActor):
    """One instance: its pool, which builds, watches and rebuilds the engine hosts. They end when it ends."""

    def __init__(self, charge: Charge) -> None:
        logs.setup(charge.estate.log_level)
        self._charge = charge
        self._kept = KeptEngine(self._pool(), SupervisorNotes(charge))
        super().__init__(Desk(lambda: self._kept))

    async def charge(self) -> tuple[Charge, Memo]:
        """What it runs, and what that was asked to be."""
        return self._charge, self._kept.memo

    async def begin(self) -> AssayError | None:
        """Start the engines; why not, where that failed."""
        try:
            await self._desk.start()
        except AssayError as error:
            return load_error(dump_error(error))
        return None

    async def close(self) -> None:
        """Close the engines; their actors end."""
        await self._desk.close()

    def _pool(self) -> Engine:
        estate = self._charge.estate
        return instance_engine(
            self._charge.spec,
            estate.kind,
            estate.options,
            first_gpu=0,
            processes=True,
            pool=estate.pool,
            host=self._host,
        )

    def _host(self, replica: int, options: dict[str, Any]) -> Engine:
        return RayEngine(HostBerth(self._charge, replica, options), model=str(options.get("model")))


class SupervisorNotes:
    """The supervisor remembers: it does not die with a keeper."""

    def __init__(self, charge: Charge) -> None:
        self._charge = charge

    async def recall(self) -> Memo:
        """Waits for a supervisor that is being started again: without it nobody knows what may be loaded."""
        pause = _RECALL_S
        while True:
            try:
                return await self._supervisor().call("recall", self._charge.spec.route_key)
            except Lost as error:
                log.warning("the supervisor cannot be asked: %s", error.detail)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _RECALL_MOST_S)

    async def remember(self, memo: Memo) -> None:
        """A supervisor that is gone asks the keepers when it is back."""
        try:
            await self._supervisor().call("remember", self._charge.spec.route_key, memo)
        except Lost as error:
            log.warning("the supervisor cannot be told: %s", error.detail)

    def _supervisor(self) -> ActorWay:
        return ActorWay(named(self._charge.estate.supervisor))


class ActorWay:
    """An actor, as those see it who call it."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    async def door(self) -> Door:
        return await self.call("door", own_node_id())

    async def ended(self) -> str:
        try:
            await self.call("hold")
        except Lost as error:
            return error.detail
        return "the actor has let go"

    def kill(self) -> None:
        """End the actor for good, whatever it does."""
        import ray

        ray.kill(self.handle, no_restart=True)

    async def call(self, method: str, *arguments: Any) -> Any:
        """Any call of the actor. Raises Lost when it is gone, or the call failed in a way that nobody foresaw."""
        from ray.exceptions import RayError

        try:
            return await getattr(self.handle, method).remote(*arguments)
        except RayError as error:
            raise Lost(told(error)) from error


class HostBerth:
    """Starts engine hosts in the place of one replica."""

    def __init__(self, charge: Charge, replica: int, options: dict[str, Any]) -> None:
        self._charge = charge
        self._replica = replica
        self._options = options

    def launch(self) -> ActorWay:
        """A new actor; it is there once its first call is answered."""
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        charge = self._charge
        place = charge.places[self._replica]
        actor: Any = ray.remote(EngineHost)
        return ActorWay(
            actor.options(
                name=charge.estate.engine(charge.spec.route_key, self._replica),
                namespace=NAMESPACE,
                num_cpus=1,
                num_gpus=1 if place.devices else 0,
                max_restarts=0,
                max_concurrency=CALLS_AT_A_TIME,
                scheduling_strategy=PlacementGroupSchedulingStrategy(charge.group, place.bundle),
            ).remote(self._options, place, charge.estate.log_level)
        )


def settle() -> None:
    """Tell the garbage collector that what is loaded by now stays: looking through all of Ray takes it 50 ms a time."""
    gc.collect()
    gc.freeze()


def told(error: Exception) -> str:
    """A Ray error in one line: its last one, where Ray says what it came from."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:_TOLD]}" if lines else type(error).__name__


def named(name: str) -> Any:
    """The actor of that name. Raises Lost where there is none."""
    import ray

    try:
        return ray.get_actor(name, NAMESPACE)
    except ValueError as error:
        raise Lost(f"there is no actor {name!r}") from error
