"""Weights in buckets: when they are taken, what completions say of them, what becomes of an engine that got half."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, InputError, StartError
from assay.engines.base import Tag
from assay.engines.feed import FEED, Bucket, Group, Receiver, Unsynced
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.sglang.engine import SGLangEngine
from assay.engines.sglang.receiving import group_body, join_body

from .conftest import Bench, ask, chat, until

WEIGHTS: frozenset[Tag] = frozenset({"weights"})
TENSOR = "/update_weights_from_tensor"


@dataclass
class Feed:
    """Sends ``buckets`` of weights that are ``marker``; before bucket ``fails_at`` (from 0) it raises ``error``."""

    marker: int = 5
    buckets: int = 3
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"embed.weight": (300, 8)})
    fails_at: int | None = None
    error: AssayError = field(default_factory=lambda: StartError("the trainer ran out of memory"))
    delivered: list[str] = field(default_factory=list[str])

    async def deliver(self, receiver: Receiver, version: str) -> int:
        self.delivered.append(receiver.key)
        for index in range(self.buckets):
            if index == self.fails_at:
                raise self.error
            last = index == self.buckets - 1
            await receiver.take(
                Bucket(
                    names=("embed.weight",),
                    shapes=((300, 8),),
                    dtype="bfloat16",
                    size=4800,
                    last=last,
                    payloads=(str(self.marker),) * receiver.width,
                )
            )
        return self.buckets * 4800


def test_the_last_bucket_brings_the_version_and_every_later_completion_carries_it(bench: Bench) -> None:
    async def main() -> None:
        feed = Feed()
        async with bench.engine(feed=feed, num_gpus=2, gpu_ids=(0, 1)) as engine:
            first = engine.info.weight_version
            old = await ask(engine, chat())
            await engine.update_weights(FEED + "v2", "v2")
            new = await ask(engine, chat())
            assert (old.weight_version, new.weight_version) == (first, "v2")
            assert old.text != new.text
            assert engine.info.weight_version == "v2"
            bodies = bench.calls(TENSOR)
            assert [body["weight_version"] for body in bodies] == [None, None, "v2"]
            assert [body["flush_cache"] for body in bodies] == [False, False, True]
            assert all(body["load_format"] == "flattened_bucket" for body in bodies)
            assert bodies[0]["serialized_named_tensors"] == ["5", "5"]
            assert bench.control_calls()[-2:] == ["/flush_cache", TENSOR]

    asyncio.run(main())


def test_requests_wait_while_buckets_come_and_running_ones_end_before(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(feed=Feed()) as engine:
            first = engine.info.weight_version
            old = asyncio.create_task(engine.generate(chat("SLOW", max_new_tokens=10), Deadline.after(10)))
            await until(lambda: len(bench.calls("/v1/chat/completions")) == 1)
            update = asyncio.create_task(engine.update_weights(FEED + "v2", "v2"))
            await until(lambda: engine._gate.state == "held")
            new = asyncio.create_task(engine.generate(chat(), Deadline.after(10)))
            assert not bench.calls(TENSOR)
            await update
            assert (await old)[0].weight_version == first
            assert (await new)[0].weight_version == "v2"

    asyncio.run(main())


def test_an_engine_that_got_a_part_serves_nothing_until_it_is_started_and_sent_all(bench: Bench) -> None:
    async def main() -> None:
        feed = Feed(fails_at=2)
        async with bench.engine(feed=feed) as engine:
            first = engine.info.weight_version
            with pytest.raises(Unsynced, match=r"'v2' did not arrive whole.*the trainer ran out of memory"):
                await engine.update_weights(FEED + "v2", "v2")
            assert engine.info.weight_version == first
            health = await engine.health()
            assert (health.healthy, health.state) == (False, "lost")
            with pytest.raises(GenerationError, match="is lost and must be started anew"):
                await ask(engine, chat())
            feed.fails_at = None
            with pytest.raises(GenerationError, match="is lost"):
                await engine.update_weights(FEED + "v2", "v2")
            await engine.start()
            await engine.update_weights(FEED + "v2", "v2")
            assert (await ask(engine, chat())).weight_version == "v2"
            assert len(set(feed.delivered)) == 2

    asyncio.run(main())


def test_a_trainer_that_could_not_begin_leaves_the_old_weights(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(feed=Feed(fails_at=0)) as engine:
            old = await ask(engine, chat())
            with pytest.raises(StartError, match="out of memory"):
                await engine.update_weights(FEED + "v2", "v2")
            assert await ask(engine, chat()) == old

    asyncio.run(main())


def test_weights_that_are_not_those_of_the_files_are_refused_before_any_is_sent(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(feed=Feed(shapes={"embed.weight": (300, 9)})) as engine:
            with pytest.raises(InputError, match=r"'embed.weight' is \(300, 9\) in the trainer.*--weight-sync disk"):
                await engine.update_weights(FEED + "v2", "v2")
        async with bench.engine() as engine:
            with pytest.raises(InputError, match="this engine was built without one"):
                await engine.update_weights(FEED + "v2", "v2")
        assert not bench.calls(TENSOR)

    asyncio.run(main())


def test_a_wake_without_a_backup_has_them_sent_again(bench: Bench) -> None:
    async def main() -> None:
        feed = Feed()
        async with bench.engine(feed=feed, weights_cpu_backup=False) as engine:
            await engine.update_weights(FEED + "v2", "v2")
            before = await ask(engine, chat())
            await engine.sleep()
            await engine.wake()
            assert await ask(engine, chat()) == before
            assert len(feed.delivered) == 2
            await engine.reload()
            assert len(feed.delivered) == 3
            assert not bench.calls("/update_weights_from_disk")

    asyncio.run(main())


def test_a_pool_starts_another_server_for_one_that_dies_in_the_middle_and_has_it_sent_everything(bench: Bench) -> None:
    async def main() -> None:
        feed = Feed()
        config = bench.config(env={"DOUBLE_BUCKETS": "2"})
        settings = PoolConfig(size=1, canary=None, rebuild_pause_s=0.01)
        pool = PoolEngine(settings, lambda _: SGLangEngine(config, bench.cards, feed))
        await pool.start()
        try:
            await pool.update_weights(FEED + "v2", "v2")
            assert pool.info.weight_version == "v2"
            found = (await pool.generate(chat(), Deadline.after(10)))[0]
            assert found.weight_version == "v2"
            assert len(set(feed.delivered)) == 2
            assert [body["weight_version"] for body in bench.calls(TENSOR)] == [None, None, None, None, "v2"]
            assert (pool.counters.deaths, pool.counters.rebuilds) == (1, 1)
        finally:
            await pool.close()

    asyncio.run(main())


def test_the_bodies_of_a_group_name_what_will_be_broadcast() -> None:
    group = Group(name="g", host="10.0.0.1", port=4000, size=3, backend="nccl")
    assert join_body(group) == {
        "master_address": "10.0.0.1",
        "master_port": 4000,
        "rank_offset": 1,
        "world_size": 3,
        "group_name": "g",
        "backend": "nccl",
    }
    bucket = Bucket(names=("a", "b"), shapes=((2, 3), (4,)), dtype="bfloat16", size=20, last=True, group="g")
    assert group_body(bucket, "v2") == {
        "names": ["a", "b"],
        "dtypes": ["bfloat16", "bfloat16"],
        "shapes": [[2, 3], [4]],
        "group_name": "g",
        "load_format": "flattened_bucket",
        "flush_cache": True,
        "weight_version": "v2",
    }
