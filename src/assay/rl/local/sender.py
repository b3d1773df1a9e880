"""The trainer of this process as a sender of weights; its work runs in the trainer's thread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from assay.core.errors import StartError
from assay.engines.feed import Bucket, Group
from assay.engines.ray.letters import LOOPBACK

from .trainer import LocalTrainer

if TYPE_CHECKING:
    from assay.training.dispatch import Dispatch


class LocalSender:
    """``feed.Sender``."""

    def __init__(self, trainer: LocalTrainer, dispatch: Dispatch) -> None:
        self._trainer = trainer
        self._dispatch = dispatch

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self._dispatch.shapes

    async def begin(self, version: str) -> None:
        await self._trainer.work(partial(self._dispatch.begin, version))

    async def next(self, width: int) -> Bucket | None:
        return await self._trainer.work(partial(self._dispatch.next, width))

    async def end(self) -> None:
        await self._trainer.work(self._dispatch.end)

    async def offer(self, name: str, engines: int) -> Group:
        group = await self._trainer.work(partial(self._dispatch.offer, name, LOOPBACK, engines))
        if group is None:
            raise StartError("only the first rank of a trainer sends weights")
        return group

    async def meet(self, name: str) -> None:
        await self._trainer.work(partial(self._dispatch.meet, name))

    async def broadcast(self, name: str) -> None:
        await self._trainer.work(partial(self._dispatch.broadcast, name))

    def stop(self) -> None:
        self._dispatch.stop()

    async def leave(self, name: str) -> None:
        await self._trainer.work(partial(self._dispatch.leave, name))

    async def close(self) -> None:
        """Give up all groups."""
        await self._trainer.work(self._dispatch.close)
