"""The two halves of a feed, without Ray: what the engine asks for is sent, and it is told what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay.core.errors import AssayError, GenerationError, StartError
from assay.core.types import FailureKind
from assay.engines.feed import Bucket, Group, Receiver
from assay.engines.ray.letters import Lost
from assay.rl.cluster.crew import Told
from assay.rl.cluster.relay import Relay, serve

SHAPES: Mapping[str, tuple[int, ...]] = {"w": (2,)}
BUCKET = Bucket(names=("w",), shapes=((2,),), dtype="bfloat16", size=4, last=True, payloads=("p",))
GROUP = Group(name="g", host="h", port=1, size=2, backend="nccl")


class Way:
    """The actor, in this process."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.gone = False

    async def call(self, method: str, *arguments: Any) -> Any:
        if self.gone:
            raise Lost("the actor is gone")
        if method == "errand":
            return await self.relay.errand()
        if method == "delivered":
            return self.relay.done(*arguments)
        try:
            await self.relay.receive(*arguments)
        except AssayError as error:
            return Told(error=error)
        return Told()


@dataclass
class Engine:
    key: str = "one"
    width: int = 2
    refuses: bool = False
    got: list[Any] = field(default_factory=list[Any])

    async def join(self, group: Group) -> None:
        self.got.append(group)

    async def take(self, bucket: Bucket) -> None:
        if self.refuses:
            raise GenerationError(FailureKind.ENGINE_ERROR, "size mismatch")
        self.got.append(bucket)


@dataclass
class Feed:
    error: Exception | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: SHAPES)
    told: list[Any] = field(default_factory=list[Any])

    async def deliver(self, receiver: Receiver, version: str) -> int:
        self.told.append((receiver.key, receiver.width, version))
        if self.error is not None:
            raise self.error
        await receiver.join(GROUP)
        await receiver.take(BUCKET)
        return BUCKET.size


async def delivered(engine: Engine, feed: Feed) -> int:
    relay = Relay(SHAPES)
    serving = asyncio.create_task(serve(Way(relay), feed))
    try:
        async with asyncio.timeout(5):
            return await relay.deliver(engine, "v2")
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError, ValueError):
            await serving


def test_what_the_feed_sends_arrives_at_the_engine() -> None:
    engine, feed = Engine(), Feed()
    assert asyncio.run(delivered(engine, feed)) == 4
    assert engine.got == [GROUP, BUCKET]
    assert feed.told == [("one", 2, "v2")]


def test_what_goes_wrong_on_either_side_is_the_engines_to_know() -> None:
    with pytest.raises(StartError, match="out of memory"):
        asyncio.run(delivered(Engine(), Feed(error=StartError("out of memory"))))
    with pytest.raises(GenerationError, match="size mismatch"):
        asyncio.run(delivered(Engine(refuses=True), Feed()))
    with pytest.raises(AssayError, match="fell over"):
        asyncio.run(delivered(Engine(), Feed(error=ValueError("a fault"))))


def test_an_errand_that_nobody_waits_for_takes_nothing_and_a_lost_actor_ends_the_serving() -> None:
    async def main() -> None:
        relay = Relay(SHAPES)
        waiting = asyncio.create_task(relay.deliver(Engine(), "v2"))
        errand = await relay.errand()
        waiting.cancel()
        await asyncio.wait({waiting})
        with pytest.raises(GenerationError, match="waits for these weights no more"):
            await relay.receive(errand.number, BUCKET)
        relay.done(errand.number, Told(value=4))
        way = Way(relay)
        way.gone = True
        async with asyncio.timeout(5):
            await serve(way, Feed())

    asyncio.run(main())
