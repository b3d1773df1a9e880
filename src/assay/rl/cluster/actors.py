"""The actors of a run, started in their seats.

Owns how Ray is asked for them. Does not own what they do: ``rank``, and ``engines.ray`` with the one thing that a
rollout engine does beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import AssayError, InputError
from assay.engines.base import Engine, TensorUpdatable
from assay.engines.catalog import EngineConfig, build_engine
from assay.engines.feed import Bucket, Group
from assay.engines.ray.actors import CALLS_AT_A_TIME, ActorWay, EngineHost, told
from assay.engines.ray.letters import Lost
from assay.engines.ray.placement import Place
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine

from .crew import Dead, Told
from .rank import RankHost, RankOrders
from .relay import Errand, Relay
from .seats import Seat
from .stages import own_log, tail
from .store import Packed, unpacked

BESIDE = "beside"
"""Calls of this group do not wait for the one that a rank is in."""


class RankHand:
    """One rank, as ``crew`` wants it."""

    def __init__(self, name: str, handle: Any) -> None:
        self.name = name
        self._handle = handle

    async def call(self, method: str, *arguments: Any) -> Told:
        return await self._asked(getattr(self._handle, method), arguments)

    async def beside(self, method: str, *arguments: Any) -> Any:
        return await self._asked(getattr(self._handle, method).options(concurrency_group=BESIDE), arguments)

    async def _asked(self, method: Any, arguments: Sequence[Any]) -> Any:
        from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError

        try:
            return await method.remote(*arguments)
        except (ActorDiedError, ActorUnavailableError) as error:
            raise Dead(f"its process has ended ({told(error)})") from error
        except RayError as error:
            raise Lost(told(error)) from error

    def kill(self) -> None:
        import ray

        ray.kill(self._handle, no_restart=True)


def start_rank(seat: Seat, group: Any, orders: RankOrders, log_level: str) -> RankHand:
    """An actor for a rank; it is there once its first call is answered."""
    import ray

    remote: Any = ray.remote
    actor = remote(concurrency_groups={BESIDE: 2})(RankHost)
    handle = actor.options(**_where(seat, group), max_restarts=0).remote(orders, log_level)
    return RankHand(f"rank {seat.index} of {seat.role!r}", handle)


class SeatHost(EngineHost):
    """An engine that also takes weights out of Ray's object store, and, if it is SGLang, from a trainer's ranks.

    Args:
        shapes: of the weights that the trainer sends; None: it sends none.
    """

    def __init__(
        self, options: dict[str, Any], place: Place, log_level: str, shapes: Mapping[str, tuple[int, ...]] | None
    ) -> None:
        self._relay = None if shapes is None else Relay(shapes)
        super().__init__(options, place, log_level, build_engine if self._relay is None else self._fed)

    async def take(self, packed: Packed, version: str) -> Told:
        """Weights, as ``store`` packs them; the bytes taken."""
        try:
            return Told(value=await self._desk.change(lambda engine: _given(engine, packed, version)))
        except AssayError as error:
            return Told(error=error)

    async def errand(self) -> Errand:
        """See ``Relay``."""
        return await self._there().errand()

    async def receive(self, number: int, what: Group | Bucket) -> Told:
        """See ``Relay``."""
        try:
            await self._there().receive(number, what)
        except AssayError as error:
            return Told(error=error)
        return Told()

    async def delivered(self, number: int, told: Told) -> None:
        """See ``Relay.done``."""
        self._there().done(number, told)

    async def log_end(self) -> str:
        """The end of this process's log."""
        return tail(own_log())

    def _fed(self, config: EngineConfig) -> Engine:
        assert isinstance(config, SGLangConfig)
        return SGLangEngine(config, feed=self._relay)

    def _there(self) -> Relay:
        assert self._relay is not None
        return self._relay


class SeatBerth:
    """Starts engine hosts in one seat. ``way``: to the last one. ``shapes``: see ``SeatHost``."""

    def __init__(
        self,
        seat: Seat,
        group: Any,
        options: Mapping[str, Any],
        log_level: str,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self._seat = seat
        self._shapes = shapes
        self._group = group
        self._options = dict(options)
        self._log_level = log_level
        self.way: ActorWay | None = None

    def launch(self) -> ActorWay:
        """A new actor; it is there once its first call is answered."""
        import ray

        actor: Any = ray.remote(SeatHost)
        asked = actor.options(**_where(self._seat, self._group), max_restarts=0, max_concurrency=CALLS_AT_A_TIME)
        self.way = ActorWay(asked.remote(self._options, self._seat.place, self._log_level, self._shapes))
        return self.way


async def _given(engine: Engine, packed: Packed, version: str) -> int:
    if not isinstance(engine, TensorUpdatable):
        raise InputError(f"the engine of {engine.info.model!r} takes no tensors: publish weights through a folder")
    return await engine.update_tensors(list(unpacked(packed)), version)


def _where(seat: Seat, group: Any) -> dict[str, Any]:
    """What Ray is asked for."""
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    return {
        "num_cpus": seat.share,
        "num_gpus": seat.share if seat.place.devices else 0,
        "scheduling_strategy": PlacementGroupSchedulingStrategy(group, seat.place.bundle),
    }
