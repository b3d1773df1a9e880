"""Parts of the service killed under load, each on a real Ray: nothing is lost, and health tells the truth meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from assay.client import GenRMClient

from .cluster import (
    RAYS_OWN,
    Service,
    kill_engine,
    kill_ingress,
    kill_keeper,
    kill_supervisor,
    pids,
    service,
    until,
)

pytestmark = [pytest.mark.filterwarnings(RAYS_OWN), pytest.mark.slow]

LATENCY_S = 0.02
REQUESTS = 500


@pytest.fixture(scope="module")
def echoes() -> Iterator[Service]:
    judge = {"model_path": "q", "num_gpus": 2, "engine_config": {"replies": "echo", "latency_s": LATENCY_S}}
    with service({"quality": judge}, app="chaos") as running:
        yield running


async def load(client: GenRMClient, stop: asyncio.Event | None = None, at_a_time: int = 16) -> list[str]:
    """``REQUESTS`` of them with a text each, or as many as there are until ``stop``; those answered wrongly."""
    wrong: list[str] = []
    numbers = iter(range(10**9))

    async def ask() -> None:
        for number in numbers:
            if number >= REQUESTS if stop is None else stop.is_set():
                return
            text = f"question {number}"
            answer = await client.generate([{"role": "user", "content": text}])
            if answer != text:
                wrong.append(f"{text!r} -> {answer!r}")

    await asyncio.gather(*(ask() for _ in range(at_a_time)))
    return wrong


@pytest.mark.parametrize("direct", [False, True])
def test_an_ingress_replica_killed_in_the_middle_of_500_requests(echoes: Service, direct: bool) -> None:
    async def run() -> None:
        async with GenRMClient(echoes.url, timeout_s=60, direct=direct) as client:
            loading = asyncio.ensure_future(load(client))
            await asyncio.sleep(0.2)
            engines = pids("assay:chaos:quality:")
            kill_ingress("chaos")
            assert await loading == []
            # No engine went with it, and there will be two replicas again.
            assert pids("assay:chaos:quality:") == engines

            async def whole() -> bool:
                client._spread.told(())
                await client._ask_endpoints()
                return len(client._spread.endpoints) == 2

            await until(whole, 60)

    echoes.run(run(), 120)


def test_an_engine_killed_under_load(echoes: Service) -> None:
    async def run() -> None:
        async with GenRMClient(echoes.url, timeout_s=60, direct=True) as client:
            loading = asyncio.ensure_future(load(client))
            await asyncio.sleep(0.2)
            kill_engine(echoes.spec, "quality")

            async def told() -> bool:
                return bool((await client.metrics())["instances"]["quality"]["engine"]["deaths"])

            assert await until(told) < 2.0
            assert await loading == []

            async def whole() -> bool:
                engine = (await client.metrics())["instances"]["quality"]["engine"]
                return [one["state"] for one in engine["replicas"]] == ["ready", "ready"]

            await until(whole)

    echoes.run(run(), 90)


def test_a_keeper_killed_under_load(echoes: Service) -> None:
    async def run() -> None:
        async with GenRMClient(echoes.url, timeout_s=60, direct=True) as client:
            loading = asyncio.ensure_future(load(client))
            await asyncio.sleep(0.2)
            kill_keeper(echoes.spec, "quality")

            async def well(wanted: bool) -> bool:
                return ((await client.health()).status == "healthy") is wanted

            assert await until(lambda: well(False)) < 2.0
            assert await loading == []
            await until(lambda: well(True))

    echoes.run(run(), 90)


def test_a_sleeping_judge_sleeps_on_when_its_keeper_is_killed(echoes: Service) -> None:
    async def run() -> None:
        async with GenRMClient(echoes.url, timeout_s=60) as client:
            await client._answered("POST", "/offload", b"{}", client._deadline(20))
            kill_keeper(echoes.spec, "quality")

            async def state() -> str | None:
                return (await client.health()).instances["quality"].state  # type: ignore[index]

            async def lost() -> bool:
                return await state() == "lost"

            async def asleep() -> bool:
                return await state() == "asleep"

            await until(lost)
            await until(asleep)
            # It was not started anew: whoever has its memory now keeps it.
            assert list(pids("assay:chaos:quality:")) == []
            await client._answered("POST", "/onload", b"{}", client._deadline(20))
            assert await load(client) == []

    echoes.run(run(), 90)


def test_the_supervisor_killed_under_load(echoes: Service) -> None:
    async def run() -> None:
        async with GenRMClient(echoes.url, timeout_s=60, direct=True) as client:
            loading = asyncio.ensure_future(load(client))
            await asyncio.sleep(0.2)
            before = pids("assay:chaos:quality")
            supervisor = kill_supervisor(echoes.spec)
            assert await loading == []

            async def back() -> bool:
                now = pids("assay:chaos")
                return supervisor not in now.values() and len(now) == len(before) + 1

            await until(back)
            # Keeper and engines are the ones that were there.
            assert pids("assay:chaos:quality") == before

    echoes.run(run(), 90)


@pytest.mark.parametrize("direct", [False, True])
def test_a_rolling_restart_under_load_loses_nothing(echoes: Service, direct: bool) -> None:
    async def run() -> None:
        async with GenRMClient(echoes.url, timeout_s=60, direct=direct) as client:
            stop = asyncio.Event()
            loading = asyncio.ensure_future(load(client, stop))
            await asyncio.sleep(0.3)
            engines = pids("assay:chaos:quality:")
            before = set(client._spread.endpoints)
            begin = time.monotonic()
            await asyncio.to_thread(echoes.redeploy)
            print(f"replaced in {time.monotonic() - begin:.1f} s")
            stop.set()
            assert await loading == []
            assert pids("assay:chaos:quality:") == engines
            await client._ask_endpoints()
            assert not before & set(client._spread.endpoints)

    echoes.run(run(), 120)
