"""A line to a desk: answers, streams, orders, leaving, dying, and news, all without Ray."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.engines.ray.letters import Lost, News
from assay.engines.ray.line import Line

from .doubles import fake, line_to, request, until


def test_many_requests_at_once_come_back_each_with_its_own_answer() -> None:
    async def run() -> None:
        async with line_to(fake()) as (_, line):
            answers = await asyncio.gather(*(line.ask(request(f"text {n}"), Deadline.after(5)) for n in range(300)))
            assert [answer[0].text for answer in answers] == [f"text {n}" for n in range(300)]

    asyncio.run(run())


def test_a_slow_request_does_not_keep_the_others_in_its_batch() -> None:
    async def run() -> None:
        slow = fake(latency_s=0.2)
        async with line_to(slow) as (_, line):
            late = asyncio.ensure_future(line.ask(request("late"), Deadline.after(5)))
            await asyncio.sleep(0)
            health = await line.order("health")
            assert health.healthy
            assert not late.done()
            assert (await late)[0].text == "late"

    asyncio.run(run())


def test_a_stream_comes_in_pieces_and_an_error_in_it_keeps_its_type() -> None:
    async def run() -> None:
        async with line_to(fake()) as (_, line):
            deltas = [delta async for delta in line.stream(request("one two three"), Deadline.after(5))]
            assert "".join(delta.text for delta in deltas) == "one two three"
            assert deltas[-1].finish_reason == "stop"
        async with line_to(fake(context_len=2)) as (_, line):
            with pytest.raises(GenerationError) as caught:
                _ = [delta async for delta in line.stream(request("one two three"), Deadline.after(5))]
            assert caught.value.kind is FailureKind.CONTEXT_OVERFLOW

    asyncio.run(run())


def test_whoever_leaves_has_the_generation_aborted() -> None:
    async def run() -> None:
        engine = fake(latency_s=30)
        async with line_to(engine) as (_, line):
            task = asyncio.ensure_future(line.ask(request(), Deadline.after(60)))
            await until(lambda: engine.running == 1)
            task.cancel()
            await until(lambda: engine.running == 0)
            with pytest.raises(GenerationError) as caught:
                await line.ask(request(), Deadline.after(0.05))
            assert caught.value.kind is FailureKind.TIMEOUT
            await until(lambda: engine.running == 0)

    asyncio.run(run())


def test_errors_keep_their_kind_and_when_to_come_back() -> None:
    async def run() -> None:
        async with line_to(fake(faults={"overloaded": 1}, retry_after_s=3)) as (_, line):
            with pytest.raises(GenerationError) as caught:
                await line.ask(request(), Deadline.after(5))
            assert (caught.value.kind, caught.value.retry_after) == (FailureKind.OVERLOADED, 3)

    asyncio.run(run())


def test_death_fails_everything_under_way_at_once() -> None:
    async def run() -> None:
        async with line_to(fake(latency_s=30)) as (actor, line):
            asking = asyncio.ensure_future(line.ask(request(), Deadline.after(60)))
            stream = line.stream(request(), Deadline.after(60))
            streaming = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.02)
            begin = time.monotonic()
            actor.kill()
            for task in (asking, streaming):
                with pytest.raises(Lost, match="the actor died"):
                    await task
            assert await line.ended() == "the actor died"
            with pytest.raises(Lost):
                await line.ask(request(), Deadline.after(60))
            assert time.monotonic() - begin < 1

    asyncio.run(run())


def test_a_line_that_breaks_takes_what_it_asked_for_along() -> None:
    async def run() -> None:
        engine = fake(latency_s=30)
        async with line_to(engine) as (_, line):
            asking = asyncio.ensure_future(line.ask(request(), Deadline.after(60)))
            await until(lambda: engine.running == 1)
            line.close()
            await until(lambda: engine.running == 0)
            with pytest.raises(Lost, match="closed"):
                await asking

    asyncio.run(run())


def test_who_does_not_know_the_password_or_speaks_otherwise_gets_nothing() -> None:
    async def run() -> None:
        async with line_to(fake()) as (actor, line):
            door = await actor.door()
            with pytest.raises(Lost):
                await Line(lambda _: None).open(replace(door, password="guess"))
            for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x03{}}", b"\x00\x00\x00\x07[[1,2]]"):
                reader, writer = await asyncio.open_connection(door.host, door.port)
                writer.write(noise)
                assert await reader.read() == b""
                writer.close()
            assert (await line.ask(request(), Deadline.after(5)))[0].text == "hello there"

    asyncio.run(run())


def test_a_desk_has_a_door_for_each_address() -> None:
    async def run() -> None:
        async with line_to(fake()) as (actor, _):
            near, far = await actor.desk.door(), await actor.desk.door("127.0.0.2")
            assert near == await actor.desk.door()
            assert (near.host, far.host) == ("127.0.0.1", "127.0.0.2")
            line = Line(lambda _: None)
            await line.open(far)
            assert (await line.ask(request(), Deadline.after(5)))[0].text == "hello there"
            line.close()

    asyncio.run(run())


def test_news_reach_every_line_before_the_one_that_asked_has_its_answer() -> None:
    async def run() -> None:
        heard: list[News] = []
        async with line_to(fake()) as (actor, line):
            other = await Line.to(actor, heard.append)
            await line.order("update_weights", "somewhere", "7")
            assert heard[-1].info.weight_version == "7"
            other.close()

    asyncio.run(run())


def test_an_order_is_carried_out_although_nobody_waits() -> None:
    async def run() -> None:
        engine = SlowSleeper()
        async with line_to(engine) as (_, line):
            task = asyncio.ensure_future(line.order("sleep", ["weights"]))
            await until(lambda: engine.started)
            task.cancel()
            await until(lambda: engine.finished)

    asyncio.run(run())


def test_what_an_engine_cannot_do_is_refused_and_a_fault_is_an_answer() -> None:
    async def run() -> None:
        engine = Broken()
        async with line_to(engine) as (_, line):
            with pytest.raises(GenerationError, match="cannot give its memory back"):
                await line.order("sleep", ["weights"])
            with pytest.raises(GenerationError, match="division by zero"):
                await line.ask(request(), Deadline.after(5))

    asyncio.run(run())


class SlowSleeper:
    """Takes its time to sleep."""

    def __init__(self) -> None:
        self.info = fake().info
        self.started = self.finished = False

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def sleep(self, tags: object) -> int:
        self.started = True
        await asyncio.sleep(0.05)
        self.finished = True
        return 1

    async def wake(self, tags: object) -> int:
        return 1


class Broken:
    """Fails in a way that nobody foresaw."""

    def __init__(self) -> None:
        self.info = fake().info

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def generate(self, *_: object) -> None:
        raise ZeroDivisionError("division by zero")
