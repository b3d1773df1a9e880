"""A crew fails as a whole, soon, and for the reason of the one that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay.core.errors import AssayError, InputError
from assay.engines.ray.letters import Lost
from assay.rl.cluster.crew import Crew, Dead, Told

Work = Callable[..., Awaitable[Told]]


@dataclass
class Hand:
    name: str
    work: Work
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str, *arguments: Any) -> Told:
        doing, dying = asyncio.ensure_future(self.work(*arguments)), asyncio.ensure_future(self.killed.wait())
        done, _ = await asyncio.wait({doing, dying}, return_when=asyncio.FIRST_COMPLETED)
        if doing in done:
            return doing.result()
        raise Dead("killed")

    async def beside(self, method: str, *arguments: Any) -> Any:
        raise Lost("nobody asks")

    def kill(self) -> None:
        self.killed.set()


async def fine(*arguments: Any) -> Told:
    return Told(value=arguments)


async def waits(*_: Any) -> Told:
    """For another one, that never comes."""
    await asyncio.Event().wait()
    raise AssertionError


def failing(error: AssayError, after: float = 0.0) -> Work:
    async def work(*_: Any) -> Told:
        await asyncio.sleep(after)
        if isinstance(error, Lost):
            raise error
        return Told(error=error)

    return work


def crew(*works: Work) -> Crew:
    return Crew([Hand(f"rank {index}", work) for index, work in enumerate(works)])


def test_values_come_in_order() -> None:
    async def run() -> None:
        both = crew(fine, fine)
        assert await both.all("step", 7, timeout_s=5) == [(7,), (7,)]
        assert await both.each("step", [(1,), (2,)], timeout_s=5) == [(1,), (2,)]

    asyncio.run(run())


def test_one_failure_ends_all_and_is_what_every_later_call_says() -> None:
    async def run() -> None:
        failed = crew(waits, failing(InputError("rank 1 has no such file")), waits)
        for _ in range(2):
            with pytest.raises(InputError, match="rank 1 has no such file"):
                await failed.all("join", timeout_s=60)
        assert all(hand.killed.is_set() for hand in failed.hands)

    asyncio.run(run())


def test_the_one_that_died_is_named_and_not_those_that_complain_of_it() -> None:
    async def run() -> None:
        complaint = failing(Lost("RuntimeError: connection closed by peer"))
        failed = crew(complaint, failing(Dead("its process has ended"), after=0.1), complaint)
        with pytest.raises(AssayError, match=r"rank 1 failed in 'step'.*its process has ended"):
            await failed.all("step", timeout_s=60)

    asyncio.run(run())


def test_one_that_hangs_is_named_when_time_is_up() -> None:
    async def run() -> None:
        failed = crew(fine, waits, fine)
        with pytest.raises(AssayError, match=r"^rank 1 did not come back from 'step' within 0.2 s \(2 of 3 did\)"):
            await failed.all("step", timeout_s=0.2)
        assert all(hand.killed.is_set() for hand in failed.hands)

    asyncio.run(run())


def test_a_call_goes_on_when_its_caller_leaves_and_the_next_one_waits() -> None:
    async def run() -> None:
        order: list[str] = []
        gate = asyncio.Event()

        async def slow(name: str) -> Told:
            if name == "first":
                await gate.wait()
            order.append(name)
            return Told(value=name)

        one = crew(slow)
        first = asyncio.create_task(one.all("step", "first", timeout_s=30))
        await asyncio.sleep(0.01)
        first.cancel()
        second = asyncio.create_task(one.all("step", "second", timeout_s=30))
        await asyncio.sleep(0.01)
        gate.set()
        assert await second == ["second"]
        assert order == ["first", "second"]

    asyncio.run(run())
