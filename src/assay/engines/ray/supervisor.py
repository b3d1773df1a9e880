"""The actor that owns an app's placement group and keepers, so that they are nobody else's to lose.

Ingress replicas come and go: each says every few seconds that it is there and where it listens, and learns where the
others do. When none has been there for ``linger_s`` the engines are closed. A supervisor that died and was started
again finds its keepers where they were.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from dataclasses import dataclass
from typing import Any

from assay.core import log as logs
from assay.core.errors import AssayError, StartError

from .actors import CALLS_AT_A_TIME, ActorWay, Charge, Keeper, named
from .cluster import locate, nodes, reserve
from .estate import NAMESPACE, Estate
from .kept import Memo
from .letters import Lost
from .placement import Place, make_plan, place

log = logging.getLogger(__name__)

BEAT_S = 1.0
"""How often a replica says that it is there."""
_BEATS_MISSED = 4
_CLOSE_S = 30.0


@dataclass(slots=True)
class _Replica:
    url: str | None
    heard_at: float


class Supervisor:
    """One per app, found by ``estate.supervisor``. Its calls return errors instead of raising them: Ray wraps those."""

    def __init__(self, estate: Estate) -> None:
        logs.setup(estate.log_level)
        self._estate = estate
        self._opening: asyncio.Task[None] | None = None
        self._lingering: asyncio.Task[None] | None = None
        self._beginning: list[asyncio.Task[None]] = []
        self._keepers: dict[str, ActorWay] = {}
        self._group: Any = None
        self._memos: dict[str, Memo] = {}
        self._replicas: dict[str, _Replica] = {}
        self._used_at = time.monotonic()

    async def open(self, estate: Estate) -> AssayError | None:
        """Have the keepers there. None when they are; else why not: ``estate`` is another one, or cannot be placed."""
        if estate.digest() != self._estate.digest():
            return StartError(
                f"the app {estate.app!r} runs on this cluster with other engines: stop it first, or name another app"
            )
        self._used_at = time.monotonic()
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.ensure_future(self._open())
        try:
            await asyncio.shield(self._opening)
        except AssayError as error:
            return error
        return None

    async def beat(self, replica: str, url: str | None) -> tuple[str, ...]:
        """The replica is there, and can be reached directly at ``url``. Where all that are there can be."""
        now = self._used_at = time.monotonic()
        self._replicas[replica] = _Replica(url, now)
        if self._opening is None:
            await self.open(self._estate)
        return tuple(one.url for one in self._present(now) if one.url is not None)

    async def leave(self, replica: str) -> None:
        """The replica is about to end."""
        self._replicas.pop(replica, None)

    async def pid(self) -> int:
        """Its process."""
        return os.getpid()

    async def recall(self, route_key: str) -> Memo:
        return self._memos.get(route_key, Memo())

    async def remember(self, route_key: str, memo: Memo) -> None:
        self._memos[route_key] = memo

    async def close(self, digest: str) -> bool:
        """Close all engines and free what was reserved, if they are those of ``digest``. Closing twice is fine."""
        if digest == self._estate.digest():
            await self._close()
            return True
        return False

    async def _close(self) -> None:
        from ray.util.placement_group import remove_placement_group

        if self._lingering is not None:
            self._lingering.cancel()
        keepers, self._keepers = self._keepers, {}
        closing = [asyncio.ensure_future(_closed(keeper)) for keeper in keepers.values()]
        if closing:
            await asyncio.wait(closing, timeout=_CLOSE_S)
        for keeper in keepers.values():
            keeper.kill()
        if self._group is not None:
            remove_placement_group(self._group)
            self._group = None

    async def _open(self) -> None:
        if self._lingering is None:
            self._lingering = asyncio.ensure_future(self._linger())
        found = {spec.route_key: await self._charge_of(spec.route_key) for spec in self._estate.specs}
        digest = self._estate.digest()
        charges = [charge for charge in found.values() if charge is not None]
        if len(charges) == len(found) and all(charge.estate.digest() == digest for charge in charges):
            self._group = charges[0].group
            log.warning("the supervisor of %r found its engines again", self._estate.app)
            return
        for remnant in self._keepers.values():
            remnant.kill()
        self._keepers, self._memos = {}, {}
        await self._build()

    async def _charge_of(self, route_key: str) -> Charge | None:
        """What the keeper of that name runs, if there is one."""
        try:
            keeper = ActorWay(named(self._estate.keeper(route_key)))
            charge, self._memos[route_key] = await keeper.call("charge")
        except Lost:
            return None
        self._keepers[route_key] = keeper
        return charge

    async def _build(self) -> None:
        estate, known = self._estate, nodes()
        estate.check()
        plan = make_plan(estate.demands(with_gpus=any(node.gpus for node in known.values())), list(known.values()))
        self._group = await reserve(plan, estate.supervisor, estate.placement_timeout_s)
        places = place(plan, await locate(plan, self._group))
        ids = {node.name: node_id for node_id, node in known.items()}
        for spec in estate.specs:
            own = places.get(spec.route_key, ())
            charge = Charge(estate=estate, spec=spec, places=own, group=self._group)
            self._keepers[spec.route_key] = _keeper(charge, own, ids)
        # All at once: a judge that is slow to load does not keep the others.
        self._beginning = [asyncio.ensure_future(_begun(keeper)) for keeper in self._keepers.values()]

    async def _linger(self) -> None:
        import ray

        while True:
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            if now - self._used_at > self._estate.linger_s:
                log.warning(
                    "no replica of %r for %.0f s: its engines are closed", self._estate.app, now - self._used_at
                )
                self._lingering = None
                await self._close()
                ray.kill(ray.get_runtime_context().current_actor, no_restart=True)

    def _present(self, now: float) -> list[_Replica]:
        gone = [name for name, one in self._replicas.items() if now - one.heard_at > BEAT_S * _BEATS_MISSED]
        for name in gone:
            del self._replicas[name]
        return list(self._replicas.values())


def _keeper(charge: Charge, places: tuple[Place, ...], ids: dict[str, str]) -> ActorWay:
    """The keeper of an instance, beside its first engine as long as that node lives."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actor: Any = ray.remote(Keeper)
    near = NodeAffinitySchedulingStrategy(ids[places[0].node], soft=True) if places else "DEFAULT"
    handle = actor.options(
        name=charge.estate.keeper(charge.spec.route_key),
        namespace=NAMESPACE,
        lifetime="detached",
        num_cpus=0,
        max_restarts=-1,
        max_concurrency=CALLS_AT_A_TIME,
        scheduling_strategy=near,
    ).remote(charge)
    return ActorWay(handle)


async def _begun(keeper: ActorWay) -> None:
    try:
        error = await keeper.call("begin")
    except Lost as lost:
        error = lost
    if error is not None:
        log.error("an instance did not start: %s", error)


async def _closed(keeper: ActorWay) -> None:
    try:
        await keeper.call("close")
    except Lost as error:
        log.warning("a keeper did not close: %s", error.detail)


async def find_supervisor(estate: Estate) -> ActorWay:
    """The app's supervisor, started if there is none, with its keepers there.

    Raises:
        AssayError: another app of that name runs, or the engines cannot be placed.
        Lost: it does not stay alive.
    """
    import ray

    actor: Any = ray.remote(Supervisor)
    options = actor.options(
        name=estate.supervisor,
        namespace=NAMESPACE,
        lifetime="detached",
        get_if_exists=True,
        num_cpus=0,
        max_restarts=-1,
        max_concurrency=CALLS_AT_A_TIME,
    )
    for pause in (0.2, 0.5, 1.0, 0.0):
        supervisor = ActorWay(await asyncio.to_thread(options.remote, estate))
        try:
            error = await supervisor.call("open", estate)
        except Lost as lost:
            # One that was told to end is still found by its name for a moment.
            if not pause:
                raise
            log.info("the supervisor of %r does not answer: %s", estate.app, lost.detail)
            await asyncio.sleep(pause)
        else:
            if error is not None:
                raise error
            return supervisor
    raise AssertionError("the last attempt returns or raises")


async def find_keeper(estate: Estate, route_key: str) -> ActorWay:
    """The desk of an instance. Raises as ``find_supervisor`` does."""
    await find_supervisor(estate)
    return ActorWay(await asyncio.to_thread(named, estate.keeper(route_key)))
