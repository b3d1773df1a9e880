"""The service on a real Ray, as a user meets it: two judges, direct ports, a killed engine, sleep seen everywhere."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from assay.client import GenRMClient, GenRMError
from assay.core.errors import InputError, StartError
from assay.core.types import Candidate, Item, Message
from assay.service.ray.run import running
from assay.wire.genrm import GenRMConfig
from assay.wire.score import VerdictReply

from ..doubles import USER
from .cluster import RAYS_OWN, Service, kill_engine, pids, service, until

pytestmark = pytest.mark.filterwarnings(RAYS_OWN)

INSTANCES = {
    "quality": {"model_path": "q", "num_gpus": 1, "engine_config": {"default": "1"}},
    "safety": {"model_path": "s", "num_gpus": 1, "engine_config": {"default": "0"}},
    "slow": {"model_path": "l", "num_gpus": 1, "engine_config": {"latency_s": 2}},
}


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("ray")
    with service(
        INSTANCES, app="smoke", num_gpus=3, cache=folder / "cache.sqlite", record=folder / "record"
    ) as started:
        yield started


def client_of(fakes: Service, **options: Any) -> GenRMClient:
    return GenRMClient(fakes.url, timeout_s=30, **options)


def item() -> Item:
    return Item(
        id="1", messages=(Message(role="user", content="2+2?"),), candidates=(Candidate(text="5"),), reference="4"
    )


async def dual_reward(client: GenRMClient, first: str, second: str) -> float:
    """The seeds' dual-judge reward: a weighted sum of two judges behind one service."""
    texts = await asyncio.gather(client.generate(USER, route_key=first), client.generate(USER, route_key=second))
    return 0.7 * float(texts[0]) + 0.3 * float(texts[1])


def test_two_judges_by_route_key_and_swapping_them_changes_the_reward(fakes: Service) -> None:
    async def run() -> None:
        async with client_of(fakes) as client:
            assert await dual_reward(client, "quality", "safety") == pytest.approx(0.7)
            assert await dual_reward(client, "safety", "quality") == pytest.approx(0.3)
            with pytest.raises(
                GenRMError, match=r"route_key='sefety'; registered: \['quality', 'safety', 'slow'\]"
            ) as caught:
                await dual_reward(client, "quality", "sefety")
            assert caught.value.status == 404
            scored = await client.score("verifier", item(), route_key="safety")
            assert isinstance(scored, VerdictReply)

    fakes.run(run())


def test_direct_endpoints_answer_as_the_service_does(fakes: Service) -> None:
    async def run() -> None:
        async with client_of(fakes, direct=True) as client:
            assert await client.generate(USER, route_key="quality") == "1"
            assert len(client._spread.endpoints) == 2
            assert fakes.url not in client._spread.endpoints
        for url in client._spread.endpoints:
            async with GenRMClient(url) as straight:
                assert (await straight.health()).status == "healthy"
                assert await straight.generate(USER, route_key="safety") == "0"

    fakes.run(run())


def test_a_killed_engine_is_told_at_once_and_rebuilt_and_costs_no_request(fakes: Service) -> None:
    async def run() -> None:
        async with client_of(fakes, direct=True) as client:

            async def state() -> tuple[str, int]:
                metrics = await client.metrics()
                engine = metrics["instances"]["safety"]["engine"]
                return engine["replicas"][0]["state"], engine["rebuilds"]

            assert (await state())[0] == "ready"
            kill_engine(fakes.spec, "safety")
            begin = time.monotonic()
            asked = [asyncio.ensure_future(client.generate(USER, route_key="safety")) for _ in range(20)]

            async def unwell() -> bool:
                return (await client.health()).instances["safety"].status == "unhealthy"  # type: ignore[index]

            assert await until(unwell) < 2.0
            assert await asyncio.gather(*asked) == ["0"] * 20
            assert (await state()) == ("ready", 1)
            assert (await client.health()).status == "healthy"
            # The other instance has not noticed.
            assert (await client.metrics())["instances"]["quality"]["engine"]["deaths"] == 0
            assert time.monotonic() - begin < 30

    fakes.run(run())


def test_sleep_asked_of_one_replica_is_known_to_all(fakes: Service) -> None:
    async def run() -> None:
        async with client_of(fakes, direct=True) as client:
            await client.generate(USER, route_key="quality")
            one, two = (GenRMClient(url, timeout_s=1) for url in client._spread.endpoints)
            async with one, two:
                slept = await offload(one, "/offload", "quality")
                assert (slept["state"], slept["asleep"]) == ("asleep", ["kv_cache", "weights"])
                assert slept["bytes"] > 0
                for replica in (one, two):
                    told = (await replica.health()).instances["quality"]  # type: ignore[index]
                    assert (told.status, told.state) == ("healthy", "asleep")
                    with pytest.raises(GenRMError) as caught:
                        await replica.generate(USER, route_key="quality")
                    assert caught.value.status == 503
                    assert await replica.generate(USER, route_key="safety") == "0"
                woken = await offload(two, "/onload", "quality")
                assert (woken["state"], woken["bytes"]) == ("ready", slept["bytes"])
                assert [await one.generate(USER, route_key="quality") for one in (one, two)] == ["1", "1"]

    fakes.run(run())


def test_a_stream_comes_through_the_proxy_and_whoever_leaves_is_not_generated_for(fakes: Service) -> None:
    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            body = {"model": "quality", "messages": USER, "stream": True}
            async with session.post(f"{fakes.url}/v1/chat/completions", json=body) as reply:
                lines = (await reply.text()).split("\n\n")
            assert lines[-2] == "data: [DONE]"
            assert any('"content":"1"' in line for line in lines)

            slow = {"messages": USER, "route_key": "slow"}
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.4), session.post(f"{fakes.url}/generate", json=slow):
                    pass

            async def idle() -> bool:
                async with session.get(f"{fakes.url}/metrics") as reply:
                    engine = (await reply.json())["instances"]["slow"]["engine"]
                return engine["replicas"][0]["in_flight"] == 0

            await until(idle, 1.0)

    fakes.run(run())


def test_verdicts_and_records_are_shared_between_replicas(fakes: Service) -> None:
    async def run() -> None:
        async with client_of(fakes, direct=True) as client:
            await client.generate(USER, route_key="quality")
            calls: list[int] = []
            for url in (*client._spread.endpoints, client._spread.endpoints[0]):
                async with GenRMClient(url, timeout_s=10) as replica:
                    scored = await replica.score("verifier", item(), route_key="quality")
                    assert isinstance(scored, VerdictReply)
                    calls.append(scored.verdict.usage.calls)
                await asyncio.sleep(0.1)  # the file is written behind the answer
            assert calls == [1, 0, 0]

    fakes.run(run())
    record = fakes.spec.config.record
    assert record is not None
    # A journal of each kind for each replica, under its own process id.
    assert len({path.name.split("-")[2] for path in record.glob("*-*-*-*.jsonl")}) == 2


def test_what_cannot_be_placed_is_refused_before_anything_starts(fakes: Service) -> None:
    genrm = {"genrm_instances": {"huge": {"model_path": "h", "num_gpus": 6, "num_gpus_per_engine": 2}}}
    config = fakes.spec.config.model_copy(update={"genrm": GenRMConfig.model_validate(genrm)})
    spec = replace(fakes.spec, config=config, ray=fakes.spec.ray.model_copy(update={"app": "huge"}))

    async def run() -> None:
        with pytest.raises(InputError, match=r"need 6 GPUs \('huge' 3 engines x 2 GPUs\) and the cluster has 3"):
            async with running(spec):
                pass
        assert pids("assay:huge") == {}
        # There is room for the bundles in all, and other engines are in them.
        genrm["genrm_instances"]["huge"]["num_gpus"] = 2
        config = fakes.spec.config.model_copy(update={"genrm": GenRMConfig.model_validate(genrm)})
        crowded = replace(spec, config=config, ray=spec.ray.model_copy(update={"placement_timeout_s": 0.5}))
        with pytest.raises(StartError, match=r"no room within 0\.5 s: .*2 GPUs are needed and 0 are free"):
            async with running(crowded):
                pass
        # An app that goes by a name that is taken does not start, and leaves the other alone.
        other = replace(fakes.spec, config=fakes.spec.config.model_copy(update={"engine_options": {"default": "7"}}))
        with pytest.raises(StartError, match="runs on this cluster with other engines"):
            async with running(other):
                pass
        async with client_of(fakes) as client:
            assert await client.generate(USER, route_key="quality") == "1"

    fakes.run(run())


async def offload(client: GenRMClient, path: str, key: str) -> dict[str, Any]:
    body = json.dumps({"route_key": key}).encode()
    return json.loads(await client._answered("POST", path, body, client._deadline(20)))
