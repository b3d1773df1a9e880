"""The actors of a run, started in their seats.

Owns how Ray is asked for them. Does not own what they do: ``rank``, and ``engines.ray`` with the one thing that a
rollout engine does beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import AssayError, InputError
from assay.engines.base import Engine, TensorUpdatable
from assay.engines.ray.actors import CALLS_AT_A_TIME, ActorWay, EngineHost, told
from assay.engines.ray.letters import Lost

from .crew import Dead, Told
from .rank import RankHost, RankOrders
from .seats import Seat
from .tensors import Packed, unpacked


class RankHand:
    """One rank, as ``crew`` wants it."""

    def __init__(self, name: str, handle: Any) -> None:
        self.name = name
        self._handle = handle

    async def call(self, method: str, *arguments: Any) -> Told:
        from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError

        try:
            return await getattr(self._handle, method).remote(*arguments)
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

    actor: Any = ray.remote(RankHost)
    handle = actor.options(**_where(seat, group), max_restarts=0).remote(orders, log_level)
    return RankHand(f"rank {seat.index} of {seat.role!r}", handle)


class SeatHost(EngineHost):
    """An engine that also takes weights out of Ray's object store."""

    async def take(self, packed: Packed, version: str) -> Told:
        """Weights, as ``tensors`` packs them; the bytes taken."""
        try:
            return Told(value=await self._desk.change(lambda engine: _given(engine, packed, version)))
        except AssayError as error:
            return Told(error=error)


class SeatBerth:
    """Starts engine hosts in one seat. ``way``: to the last one."""

    def __init__(self, seat: Seat, group: Any, options: Mapping[str, Any], log_level: str) -> None:
        self._seat = seat
        self._group = group
        self._options = dict(options)
        self._log_level = log_level
        self.way: ActorWay | None = None

    def launch(self) -> ActorWay:
        """A new actor; it is there once its first call is answered."""
        import ray

        actor: Any = ray.remote(SeatHost)
        asked = actor.options(**_where(self._seat, self._group), max_restarts=0, max_concurrency=CALLS_AT_A_TIME)
        self.way = ActorWay(asked.remote(self._options, self._seat.place, self._log_level))
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
