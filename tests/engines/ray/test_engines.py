"""The engine in an actor, the shared one and the kept one, over actors in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.types import FailureKind
from assay.engines.base import Offloadable, StreamingEngine, Updatable
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine
from assay.engines.pool.report import Reporting
from assay.engines.pool.traits import Reloadable, Supervised, Weighed
from assay.engines.ray.actors import told
from assay.engines.ray.desk import Desk
from assay.engines.ray.engine import RayEngine
from assay.engines.ray.kept import KeptEngine, Memo
from assay.engines.ray.letters import Lost, News
from assay.engines.ray.line import Way
from assay.engines.ray.shared import SharedEngine

from .doubles import Actor, Berths, fake, request, until

WEIGHTS = frozenset({"weights"})
ALL = frozenset({"weights", "kv_cache"})


@dataclass
class Notebook:
    """Notes in memory."""

    memo: Memo = field(default_factory=Memo)

    async def recall(self) -> Memo:
        return self.memo

    async def remember(self, memo: Memo) -> None:
        self.memo = memo


@dataclass(eq=False)
class Keepers:
    """Where a shared engine finds its keeper; a dead one is followed by another, which has the same notes."""

    notes: Notebook = field(default_factory=Notebook)
    latency_s: float = 0.0
    current: Actor | None = None
    all: list[Actor] = field(default_factory=list[Actor])

    async def find(self) -> Way:
        if self.current is None:
            self.current = Actor(Desk(lambda: KeptEngine(fake(latency_s=self.latency_s), self.notes)))
            self.all.append(self.current)
        return self.current

    def kill(self) -> None:
        assert self.current is not None
        self.current.kill()
        self.current = None

    async def shut(self) -> None:
        for actor in self.all:
            await actor.desk.shut()


@asynccontextmanager
async def shared(keepers: Keepers, heard: list[News] | None = None) -> AsyncGenerator[SharedEngine]:
    engine = SharedEngine(keepers.find, model="m", on_news=None if heard is None else heard.append)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()
        await keepers.shut()


def test_a_ray_engine_has_all_that_a_pool_can_use() -> None:
    engine = RayEngine(Berths(fake), model="m")
    for protocol in (StreamingEngine, Offloadable, Updatable, Supervised, Reloadable, Weighed):
        assert isinstance(engine, protocol)
    for protocol in (StreamingEngine, Offloadable, Updatable):
        assert isinstance(SharedEngine(Keepers().find, model="m"), protocol)


def test_a_ray_engine_starts_its_actor_and_ends_it() -> None:
    async def run() -> None:
        berths = Berths(fake)
        engine = RayEngine(berths, model="m")
        with pytest.raises(Lost, match="has not started"):
            await engine.generate(request(), Deadline.after(5))
        await engine.start()
        assert engine.info.capabilities
        assert (await engine.generate(request(), Deadline.after(5)))[0].text == "hello there"
        assert await engine.sleep(WEIGHTS) == 1 << 30
        assert await engine.wake(WEIGHTS) == 1 << 30
        await engine.update_weights("there", "2")
        assert engine.info.weight_version == "2"
        await engine.reload()
        assert engine.info.weight_version == "0"
        await engine.close()
        assert berths.actors[0].death.is_set()
        await engine.close()
        assert (await engine.health()).state == "dead"
        await berths.shut()

    asyncio.run(run())


def test_an_engine_that_cannot_start_says_why_by_its_type() -> None:
    async def run() -> None:
        for error in (InputError("no model 'x'"), StartError("no room")):
            berths = Berths(lambda error=error: Unstartable(error))  # type: ignore[misc, return-value]
            engine = RayEngine(berths, model="m")
            with pytest.raises(type(error), match=str(error)):
                await engine.start()
            assert berths.actors[0].death.is_set()
            await berths.shut()
        slow = Berths(lambda: Unstartable(None))  # type: ignore[return-value]
        with pytest.raises(StartError, match=r"not within 0\.05 s"):
            await RayEngine(slow, model="m", start_timeout_s=0.05).start()
        assert slow.actors[0].death.is_set()
        await slow.shut()

    asyncio.run(run())


def test_a_pool_of_ray_engines_outlives_a_killed_actor() -> None:
    async def run() -> None:
        berths = Berths(lambda: fake(latency_s=0.02))
        pool = PoolEngine(PoolConfig(size=2, health_every_s=0.05), lambda index: RayEngine(berths, model=f"m{index}"))
        await pool.start()
        asked = [asyncio.ensure_future(pool.generate(request(str(n)), Deadline.after(10))) for n in range(40)]
        await asyncio.sleep(0.01)
        berths.actors[0].kill()
        assert [(await one)[0].text for one in asked] == [str(n) for n in range(40)]
        assert pool.counters.deaths == 1
        await until(lambda: len(berths.actors) == 3 and all(member.life.admits for member in pool.members))
        await pool.close()
        await berths.shut()

    asyncio.run(run())


def test_a_shared_engine_is_shared_and_closing_it_leaves_it_to_the_others() -> None:
    async def run() -> None:
        keepers = Keepers()
        heard: list[News] = []
        async with shared(keepers, heard) as one:
            other = SharedEngine(keepers.find, model="m")
            await other.start()
            await other.update_weights("there", "7")
            assert one.info.weight_version == "7"
            assert await other.sleep(ALL) > 0
            assert heard[-1].asleep == ALL
            with pytest.raises(GenerationError) as caught:
                await one.generate(request(), Deadline.after(5))
            assert caught.value.kind is FailureKind.ASLEEP
            assert await one.wake(ALL) > 0
            await other.close()
            assert (await one.generate(request(), Deadline.after(5)))[0].text == "hello there"
            with pytest.raises(GenerationError, match="closed here"):
                await other.generate(request(), Deadline.after(5))

    asyncio.run(run())


def test_a_shared_engine_reports_what_happens_in_its_keepers_pool() -> None:
    async def run() -> None:
        berths = Berths(lambda: fake(latency_s=0.3))
        pool = PoolEngine(PoolConfig(size=2, health_every_s=0.05), lambda index: RayEngine(berths, model=f"m{index}"))
        keeper = Actor(Desk(lambda: KeptEngine(pool, Notebook())))
        keepers = Keepers(current=keeper, all=[keeper])
        async with shared(keepers) as engine:
            assert isinstance(engine, Reporting)
            assert (await engine.report()).waiting == ()
            assert (await engine.report()).longest_wait_s == 0
            berths.actors[0].kill()
            await until(lambda: pool.counters.deaths == 1)
            asked = asyncio.ensure_future(engine.generate(request("slow"), Deadline.after(10)))
            await until(lambda: pool.waiting())
            report = await engine.report()
            assert (report.counters["deaths"], report.counters["sleeps"]) == (1, 0)
            (waiter,) = report.waiting
            assert (waiter.request_id, waiter.attempts) == ("slow", 0)
            assert report.longest_wait_s == waiter.waited_s > 0
            await asked
            keeper.kill()
            await until(lambda: engine._line is None or engine._line.lost is not None)
            with pytest.raises(GenerationError):
                await engine.report()
        await pool.close()
        await berths.shut()

    asyncio.run(run())


def test_an_engine_that_is_no_pool_has_nothing_to_report() -> None:
    async def run() -> None:
        async with shared(Keepers()) as engine:
            with pytest.raises(GenerationError, match="cannot report") as caught:
                await engine.report()
            assert caught.value.kind is FailureKind.BAD_REQUEST

    asyncio.run(run())


def test_what_was_under_way_when_a_keeper_died_is_sent_to_the_next_one() -> None:
    async def run() -> None:
        keepers = Keepers(latency_s=0.05)
        async with shared(keepers) as engine:
            asked = [asyncio.ensure_future(engine.generate(request(str(n)), Deadline.after(10))) for n in range(20)]
            streamed = asyncio.ensure_future(_text(engine))
            await asyncio.sleep(0.02)
            keepers.kill()
            assert [(await one)[0].text for one in asked] == [str(n) for n in range(20)]
            assert await streamed == "hello there"
            assert (await engine.health()).healthy
            assert len(keepers.all) == 2

    asyncio.run(run())


def test_a_request_waits_for_a_keeper_until_its_own_deadline() -> None:
    async def run() -> None:
        keepers = Keepers()
        async with shared(keepers) as engine:
            find, engine._find = engine._find, _nobody
            keepers.kill()
            await until(lambda: engine._line is None)
            begin = time.monotonic()
            with pytest.raises(GenerationError) as caught:
                await engine.generate(request(), Deadline.after(0.1))
            assert caught.value.kind is FailureKind.TIMEOUT
            assert time.monotonic() - begin < 1
            engine._find = find
            assert (await engine.generate(request(), Deadline.after(10)))[0].text == "hello there"

    asyncio.run(run())


def test_a_keeper_that_cannot_start_its_engine_says_so_to_everybody_who_asks() -> None:
    async def run() -> None:
        actor = Actor(Desk(lambda: Unstartable(InputError("no model 'x'"))))  # type: ignore[arg-type, return-value]

        async def find() -> Way:
            return actor

        for _ in range(2):
            with pytest.raises(InputError, match="no model 'x'"):
                await SharedEngine(find, model="m").start()
        await actor.desk.shut()

    asyncio.run(run())


def test_an_engine_left_asleep_starts_when_it_is_woken_with_the_weights_it_had() -> None:
    async def run() -> None:
        notes = Notebook()
        first = KeptEngine(fake(), notes)
        await first.start()
        await first.update_weights("there", "7")
        await first.sleep(ALL)
        assert notes.memo == Memo(asleep=ALL, weights=("there", "7"))

        engine = fake()
        second = KeptEngine(engine, notes)
        await second.start()
        assert (second.asleep, (await second.health()).state) == (ALL, "asleep")
        assert (await second.health()).healthy
        with pytest.raises(GenerationError) as caught:
            await second.generate(request(), Deadline.after(5))
        assert caught.value.kind is FailureKind.ASLEEP
        assert engine.info.weight_version == "0"
        assert await second.wake(WEIGHTS) == 0
        assert (await second.health()).state == "asleep"
        await second.wake(frozenset({"kv_cache"}))
        assert second.info.weight_version == "7"
        assert (await second.generate(request(), Deadline.after(5)))[0].text == "hello there"
        assert notes.memo.asleep == frozenset()

    asyncio.run(run())


def test_what_ray_says_comes_down_to_what_happened() -> None:
    error = RuntimeError("The actor died because of an error in its creation task,\n  File x\n\nStartError: no room\n")
    assert told(error) == "RuntimeError: StartError: no room"
    assert told(RuntimeError()) == "RuntimeError"
    assert len(told(RuntimeError("x" * 1000))) < 400


class Unstartable:
    """Raises ``error`` when it is started, or never ends starting."""

    def __init__(self, error: Exception | None) -> None:
        self.info = fake().info
        self._error = error

    async def start(self) -> None:
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()

    async def close(self) -> None: ...


async def _text(engine: SharedEngine) -> str:
    return "".join([delta.text async for delta in engine.stream(request(), Deadline.after(10))])


async def _nobody() -> Way:
    raise Lost("there is nobody")
