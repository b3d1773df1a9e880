"""The ranks of a trainer as senders of weights: one feed for each engine, all in turn.

| way | who fills a bucket |
|---|---|
| tensor | the ranks on the engine's cards, each on its own: a handle is read where its memory is |
| nccl | the first rank, which broadcasts it |

All ranks gather, whoever fills. Owns which ranks do. Does not own the order of the calls (``rl.weights.feed``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import StartError
from assay.engines.feed import Bucket, Group
from assay.engines.ray.letters import Lost

from ..weights.feed import FedWay, TrainerFeed
from .rank_sends import SendOrders, joined, value_of
from .trainer import RayTrainer


class CrewSender:
    """``feed.Sender`` to one engine.

    Args:
        fills: the ranks that fill buckets, in the order of the engine's tensor-parallel ranks.
        across: the engine is on another node than the first rank.
    """

    def __init__(
        self, trainer: RayTrainer, shapes: Mapping[str, tuple[int, ...]], fills: Sequence[int], *, across: bool
    ) -> None:
        self.shapes = shapes
        self._trainer = trainer
        self._fills = tuple(fills)
        self._across = across
        self._stopping: asyncio.Future[None] | None = None

    async def begin(self, version: str) -> None:
        await self._each("send_begin", [(version, rank in self._fills) for rank in self._ranks])

    async def next(self, width: int) -> Bucket | None:
        if width not in (0, len(self._fills)):
            raise StartError(f"the engine has {width} ranks, and {len(self._fills)} of the trainer's are on its cards")
        buckets: list[Bucket | None] = await self._each(
            "send_next", [(int(width > 0 and rank in self._fills),) for rank in self._ranks]
        )
        filled = [bucket for rank in self._fills if (bucket := buckets[rank]) is not None]
        return joined(filled) if filled else None

    async def end(self) -> None:
        await self._all("send_end")

    async def offer(self, name: str, engines: int) -> Group:
        group: Group | None = (await self._all("send_offer", name, self._across, engines))[0]
        assert group is not None
        return group

    async def meet(self, name: str) -> None:
        await self._all("send_meet", name)

    async def broadcast(self, name: str) -> None:
        await self._all("send_broadcast", name)

    def stop(self) -> None:
        self._stopping = asyncio.ensure_future(self._stop())

    async def leave(self, name: str) -> None:
        await self._all("send_leave", name)

    @property
    def _ranks(self) -> range:
        return range(len(self._trainer.crew.hands))

    async def _stop(self) -> None:
        try:
            await self._trainer.crew.hands[0].beside("send_stop")
        except Lost:
            return  # the call that it was to end has ended with the rank

    async def _all(self, method: str, *arguments: Any) -> list[Any]:
        return await self._each(method, [arguments for _ in self._ranks])

    async def _each(self, method: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        return value_of(await self._trainer.handing(method, arguments))


class Feeds:
    """The feed of each rollout engine, by its index. Not to be used before ``equip``.

    Args:
        fills: for each engine, see ``CrewSender``.
        across: of each engine, likewise.
    """

    def __init__(
        self,
        trainer: RayTrainer,
        way: FedWay,
        shapes: Mapping[str, tuple[int, ...]],
        fills: Sequence[Sequence[int]],
        across: Sequence[bool],
    ) -> None:
        self.way: FedWay = way
        self.shapes = dict(shapes)
        self._trainer = trainer
        turn = asyncio.Lock()
        self.all = tuple(
            TrainerFeed(CrewSender(trainer, self.shapes, own, across=far), way, turn)
            for own, far in zip(fills, across, strict=True)
        )

    @property
    def sent(self) -> int:
        """Bytes of the largest of the last deliveries."""
        return max((feed.sent for feed in self.all), default=0)

    async def equip(self, orders: SendOrders) -> None:
        """Have the ranks ready to send."""
        await self._trainer.handing("send_equip", [(orders,) for _ in self._trainer.crew.hands])
