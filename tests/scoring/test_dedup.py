from __future__ import annotations

import asyncio

from assay.scoring.dedup import SingleFlight


def test_a_new_call_after_everyone_left_is_not_the_cancelled_one() -> None:
    async def scenario() -> tuple[tuple[int, bool], int]:
        flight: SingleFlight[int] = SingleFlight()
        started = 0

        async def call() -> int:
            nonlocal started
            started += 1
            await asyncio.sleep(0.02)
            return started

        first = asyncio.create_task(flight.run("k", call))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        second = asyncio.create_task(flight.run("k", call))
        await asyncio.gather(first, return_exceptions=True)
        return await second, len(flight)

    result, left = asyncio.run(scenario())
    assert result == (2, False)
    assert left == 0


def test_an_exception_reaches_every_waiter() -> None:
    async def scenario() -> list[object]:
        flight: SingleFlight[int] = SingleFlight()

        async def call() -> int:
            await asyncio.sleep(0.01)
            raise ValueError("no")

        return list(await asyncio.gather(*(flight.run("k", call) for _ in range(3)), return_exceptions=True))

    assert [type(r) for r in asyncio.run(scenario())] == [ValueError] * 3
