from __future__ import annotations

import asyncio
import time

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.service.admission import Admission

NEVER = Deadline.never()


def test_places_are_given_in_order_of_arrival() -> None:
    async def run() -> list[str]:
        admission = Admission(1, 10)
        came: list[str] = []

        async def work(name: str) -> None:
            await admission.enter(NEVER)
            came.append(name)
            await asyncio.sleep(0)
            admission.leave(time.monotonic())

        await asyncio.gather(*(work(name) for name in "abcd"))
        assert (admission.running, admission.waiting) == (0, 0)
        return came

    assert asyncio.run(run()) == list("abcd")


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    async def run() -> None:
        admission = Admission(1, 1)
        await admission.enter(NEVER)
        waiting = asyncio.create_task(admission.enter(NEVER))
        await asyncio.sleep(0)
        with pytest.raises(GenerationError) as caught:
            await admission.enter(NEVER)
        assert caught.value.kind is FailureKind.OVERLOADED
        assert caught.value.retry_after == 1.0
        assert "1 requests run and 1 wait" in caught.value.detail
        admission.leave(time.monotonic())
        await waiting
        assert (admission.running, admission.waiting) == (1, 0)

    asyncio.run(run())


def test_waiting_ends_at_the_deadline_and_frees_the_place_in_the_queue() -> None:
    async def run() -> None:
        admission = Admission(1, 1)
        await admission.enter(NEVER)
        with pytest.raises(GenerationError) as caught:
            await admission.enter(Deadline.after(0.01))
        assert caught.value.kind is FailureKind.TIMEOUT
        assert admission.waiting == 0
        admission.leave(time.monotonic())
        assert admission.running == 0

    asyncio.run(run())


def test_a_waiter_that_leaves_as_it_is_called_passes_its_place_on() -> None:
    async def run() -> None:
        admission = Admission(1, 5)
        await admission.enter(NEVER)
        leaving = asyncio.create_task(admission.enter(NEVER))
        next_one = asyncio.create_task(admission.enter(NEVER))
        await asyncio.sleep(0)
        admission.leave(time.monotonic())  # hands the place to `leaving`, which is cancelled before it can run
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await asyncio.wait_for(next_one, 1)
        assert (admission.running, admission.waiting) == (1, 0)
        admission.leave(time.monotonic())
        await asyncio.wait_for(admission.idle(), 1)

    asyncio.run(run())


def test_nobody_overtakes_the_queue() -> None:
    async def run() -> None:
        admission = Admission(2, 5)
        await admission.enter(NEVER)
        await admission.enter(NEVER)
        waiting = asyncio.create_task(admission.enter(NEVER))
        await asyncio.sleep(0)
        admission.leave(time.monotonic())
        assert not admission.try_enter(), "the place is the waiter's, though it has not run yet"
        await waiting

    asyncio.run(run())


def test_the_wait_told_is_the_queue_over_the_recent_rate() -> None:
    async def run() -> None:
        admission = Admission(2, 100)
        for _ in range(200):
            await admission.enter(NEVER)
            admission.leave(time.monotonic() - 10)  # each took ten seconds
        assert admission.retry_after == pytest.approx(5.0, abs=0.1)  # 10 s x (0 waiting + 1) / 2 places

    asyncio.run(run())
