"""The trainer as a feed of weights: bucket by bucket, in the memory of a shared card or through a process group.

| way | what travels | for |
|---|---|---|
| tensor | a handle; the engine reads the trainer's own memory | an engine on the card of the rank that sends |
| nccl | a broadcast from the rank that sends to the ranks of one engine | an engine on other cards |

One engine at a time (feeds of one trainer share their turn), each in a group of its own: one that dies takes nobody
along, and the same call that synchronises it serves the one that takes its place. Owns the order of these calls. Does
not own buckets (``training.dispatch``), nor what holds requests back meanwhile (the engine).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Mapping
from typing import Literal, Protocol

from assay.core.errors import AssayError
from assay.engines.feed import Bucket, Group, Receiver

FedWay = Literal["tensor", "nccl"]


class Sender(Protocol):
    """A trainer's ``Dispatch``, wherever it is. Raises what that raises."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]: ...
    async def begin(self, version: str) -> None: ...
    async def next(self, width: int) -> Bucket | None: ...
    async def end(self) -> None: ...
    async def offer(self, name: str, engines: int) -> Group: ...
    async def meet(self, name: str) -> None: ...
    async def broadcast(self, name: str) -> None: ...
    def stop(self) -> None:
        """End a broadcast that goes on, as far as that can be done from outside; returns at once."""
        ...

    async def leave(self, name: str) -> None: ...


class TrainerFeed:
    """``feed.WeightFeed``; see the module. ``turn``: of all feeds of the same trainer."""

    def __init__(self, sender: Sender, way: FedWay, turn: asyncio.Lock | None = None) -> None:
        self.way = way
        self.sent = 0
        """Bytes of the last delivery."""
        self._sender = sender
        self._turn = turn or asyncio.Lock()
        self._groups: dict[str, str] = {}
        """Name of the group by the key of the engine in it."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return self._sender.shapes

    async def deliver(self, receiver: Receiver, version: str) -> int:
        """See ``WeightFeed.deliver``."""
        async with self._turn:
            try:
                await self._sender.begin(version)
                self.sent = await (self._handed(receiver) if self.way == "tensor" else self._broadcast(receiver))
            finally:
                await self._sender.end()
            return self.sent

    async def _handed(self, receiver: Receiver) -> int:
        size = 0
        while (bucket := await self._sender.next(receiver.width)) is not None:
            await receiver.take(bucket)
            size += bucket.size
        return size

    async def _broadcast(self, receiver: Receiver) -> int:
        size = 0
        name = await self._group(receiver)
        try:
            while (bucket := await self._sender.next(0)) is not None:
                told = Bucket(
                    names=bucket.names,
                    shapes=bucket.shapes,
                    dtype=bucket.dtype,
                    size=bucket.size,
                    last=bucket.last,
                    group=name,
                )
                await self._both(self._sender.broadcast(name), receiver.take(told))
                size += bucket.size
        except BaseException:
            # What was half sent leaves a group in which nobody knows what comes next.
            del self._groups[receiver.key]
            await self._sender.leave(name)
            raise
        return size

    async def _group(self, receiver: Receiver) -> str:
        """The group with this engine; they meet at first."""
        if (known := self._groups.get(receiver.key)) is not None:
            return known
        name = f"assay-weights-{uuid.uuid4().hex[:12]}"
        group = await self._sender.offer(name, receiver.width)
        try:
            await self._both(self._sender.meet(name), receiver.join(group))
        except BaseException:
            await self._sender.leave(name)
            raise
        self._groups[receiver.key] = name
        return name

    async def _both(self, sending: Awaitable[None], taking: Awaitable[None]) -> None:
        """The trainer's half of a step and the engine's, at the same time; where one fails the other is not waited for.

        Raises:
            AssayError: what failed first.
        """
        ours, theirs = asyncio.ensure_future(sending), asyncio.ensure_future(taking)
        try:
            done, _ = await asyncio.wait({ours, theirs}, return_when=asyncio.FIRST_EXCEPTION)
            failed = [task.exception() for task in (theirs, ours) if task in done and task.exception() is not None]
            if failed:
                raise failed[0] or AssayError("weights were not sent")
        finally:
            if not ours.done():
                self._sender.stop()
            theirs.cancel()
            # Ours must have come to its end before the next call: it runs where all others will.
            await asyncio.gather(ours, theirs, return_exceptions=True)
