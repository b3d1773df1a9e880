"""Weights in buckets to an engine in an actor: the feed that the engine has there, and who serves it here.

The engine asks its feed for weights when it is ready for them, in its actor. The trainer's ranks are called from the
process of the run. So that process asks the actor, all the time, for what its engine wants (``Errand``), has the ranks
send it, and passes on what the engine is to be told. Owns these two halves. Does not own what is sent (``rl.weights``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from assay.core.errors import AssayError, GenerationError
from assay.core.types import FailureKind
from assay.engines.feed import Bucket, Group, Receiver, WeightFeed
from assay.engines.ray.letters import Lost

from .crew import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """An engine that is ready for weights. ``key``, ``width``: see ``feed.Receiver``."""

    number: int
    key: str
    width: int
    version: str


class Relay:
    """``feed.WeightFeed`` of an engine, in its actor; ``receive`` and ``done`` are for whoever took the errand."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = shapes
        self._number = 0
        self._errands: asyncio.Queue[Errand] = asyncio.Queue()
        self._open: dict[int, tuple[Receiver, asyncio.Future[int]]] = {}

    async def deliver(self, receiver: Receiver, version: str) -> int:
        """See ``WeightFeed.deliver``."""
        self._number += 1
        number, whole = self._number, asyncio.get_running_loop().create_future()
        self._open[number] = receiver, whole
        self._errands.put_nowait(Errand(number=number, key=receiver.key, width=receiver.width, version=version))
        try:
            return await whole
        finally:
            del self._open[number]

    async def errand(self) -> Errand:
        """The next one, waited for."""
        return await self._errands.get()

    async def receive(self, number: int, what: Group | Bucket) -> None:
        """Have the engine meet a group, or take a bucket. Raises GenerationError."""
        if number not in self._open:
            raise GenerationError(FailureKind.CANCELLED, "the engine waits for these weights no more")
        receiver, _ = self._open[number]
        await (receiver.join(what) if isinstance(what, Group) else receiver.take(what))

    def done(self, number: int, told: Told) -> None:
        """The errand is over: all bytes were sent, or why not."""
        _, whole = self._open.get(number, (None, None))
        if whole is None or whole.done():
            return
        if told.error is None:
            whole.set_result(told.value)
        else:
            whole.set_exception(told.error)


class Actor(Protocol):
    """The actor of an engine."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """Raises Lost."""
        ...


async def serve(way: Actor, feed: WeightFeed) -> None:
    """Do what the engine in that actor asks for, until it is lost."""
    try:
        while True:
            errand: Errand = await way.call("errand")
            # Whatever happens here, the engine must not wait for ever.
            told = Told(error=AssayError("the weights were not sent: what sends them fell over"))
            try:
                told = Told(value=await feed.deliver(_Remote(way, errand), errand.version))
            except AssayError as error:
                told = Told(error=error)
            finally:
                await way.call("delivered", errand.number, told)
    except Lost:
        return  # its pool knows, and starts another


class _Remote:
    """``feed.Receiver``: the one behind an errand."""

    def __init__(self, way: Actor, errand: Errand) -> None:
        self._way = way
        self._errand = errand

    @property
    def key(self) -> str:
        return self._errand.key

    @property
    def width(self) -> int:
        return self._errand.width

    async def join(self, group: Group) -> None:
        await self._told(group)

    async def take(self, bucket: Bucket) -> None:
        await self._told(bucket)

    async def _told(self, what: Group | Bucket) -> None:
        told: Told = await self._way.call("receive", self._errand.number, what)
        if told.error is not None:
            raise told.error
