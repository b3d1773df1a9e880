"""Clients that leave, streams that are cut, instances that go to sleep: nobody generates for a caller who has left."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from assay.core.types import FailureKind
from assay.service.gateway import Gateway
from assay.service.server import running
from assay.service.settings import ServiceSettings

from .doubles import ITEM, USER, Puppet, SleepyPuppet, StreamingPuppet, client_of, make_app, until

PORT_0 = ServiceSettings(port=0, drain_s=5)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", {"messages": USER}),
        ("/score", {"judge": "verifier", "item": ITEM}),
        ("/v1/chat/completions", {"model": "puppet", "messages": USER}),
    ],
)
def test_a_client_that_leaves_stops_its_generation(path: str, body: object) -> None:
    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        app = make_app(engine)
        gateway: Gateway = app.state.gateway
        async with running(app, PORT_0) as url, aiohttp.ClientSession() as session:
            request = asyncio.create_task(session.post(url + path, json=body))
            await until(lambda: len(engine.requests) == 1)
            request.cancel()
            await until(lambda: engine.cancelled == 1)
            await until(lambda: gateway.instances["__default__"].admission.running == 0)

    asyncio.run(run())


def test_a_client_that_leaves_the_queue_frees_its_place() -> None:
    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        app = make_app(engine, max_in_flight=1)
        admission = app.state.gateway.instances["__default__"].admission
        async with running(app, PORT_0) as url, aiohttp.ClientSession() as session:
            first = asyncio.create_task(session.post(f"{url}/generate", json={"messages": USER}))
            await until(lambda: len(engine.requests) == 1)
            second = asyncio.create_task(session.post(f"{url}/generate", json={"messages": USER}))
            await until(lambda: admission.waiting == 1)
            second.cancel()
            await until(lambda: admission.waiting == 0)
            assert engine.gate is not None
            engine.gate.set()
            assert (await first).status == 200
            assert len(engine.requests) == 1

    asyncio.run(run())


def test_one_of_two_clients_with_the_same_question_may_leave() -> None:
    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        body = {"judge": "verifier", "item": ITEM}
        app = make_app(engine)
        admission = app.state.gateway.instances["__default__"].admission
        async with running(app, PORT_0) as url, aiohttp.ClientSession() as session:
            leaver = asyncio.create_task(session.post(f"{url}/score", json=body))
            stayer = asyncio.create_task(session.post(f"{url}/score", json=body))
            await until(lambda: admission.running == 2)
            leaver.cancel()
            await until(lambda: admission.running == 1)
            assert engine.cancelled == 0
            assert engine.gate is not None
            engine.gate.set()
            reply = await stayer
            assert (await reply.json())["verdict"]["scores"] == [1.0]
            assert len(engine.requests) == 1

    asyncio.run(run())


def test_a_reader_that_leaves_a_stream_stops_it() -> None:
    async def run() -> None:
        engine = StreamingPuppet(text="one two three", gate=asyncio.Event())
        app = make_app(engine)
        gateway: Gateway = app.state.gateway
        async with running(app, PORT_0) as url, aiohttp.ClientSession() as session:
            body = {"model": "puppet", "messages": USER, "stream": True}
            reply = await session.post(f"{url}/v1/chat/completions", json=body)
            assert (await reply.content.readline()).startswith(b"data: ")
            reply.close()
            await until(lambda: engine.cancelled == 1)
            await until(lambda: gateway.instances["__default__"].admission.running == 0)
            assert gateway.instances["__default__"].generations.failures == {"cancelled": 1}

    asyncio.run(run())


def test_offload_waits_for_what_runs_and_refuses_what_comes() -> None:
    async def run() -> None:
        engine = SleepyPuppet(gate=asyncio.Event())
        app = make_app(engine)
        gateway: Gateway = app.state.gateway
        async with client_of(app) as client:
            running_one = asyncio.create_task(client.post("/generate", json={"messages": USER}))
            await until(lambda: len(engine.requests) == 1)
            offload = asyncio.create_task(client.post("/offload", json={}))
            await until(lambda: gateway.instances["__default__"].state == "draining")
            refused = await client.post("/generate", json={"messages": USER})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
            assert refused.json()["error"] == {"type": "asleep", "message": "instance '__default__' is draining"}
            assert not engine.slept
            assert engine.gate is not None
            engine.gate.set()
            assert (await running_one).status_code == 200
            assert (await offload).json() == {
                "route_key": "__default__",
                "state": "asleep",
                "asleep": ["kv_cache", "weights"],
                "bytes": 2000,
            }
            assert (await client.post("/generate", json={"messages": USER})).status_code == 503

    asyncio.run(run())


def test_offload_aborts_what_outlasts_its_deadline_with_a_503() -> None:
    async def run() -> None:
        engine = SleepyPuppet(gate=asyncio.Event())
        async with client_of(make_app(engine)) as client:
            running_one = asyncio.create_task(client.post("/generate", json={"messages": USER}))
            await until(lambda: len(engine.requests) == 1)
            slept = await client.post("/offload", json={}, headers={"X-Assay-Deadline-S": "0.05"})
            assert slept.json()["state"] == "asleep"
            aborted = await running_one
            assert aborted.status_code == 503
            assert "went to sleep before the answer was whole" in aborted.json()["error"]["message"]
            assert engine.cancelled == 1

    asyncio.run(run())


def test_an_instance_wakes_when_all_that_slept_is_awake() -> None:
    async def run() -> None:
        engine = SleepyPuppet()
        async with client_of(make_app(engine)) as client:
            await client.post("/offload", json={})
            again = await client.post("/offload", json={"tags": ["weights"]})
            assert (again.json()["bytes"], len(engine.slept)) == (0, 1)
            half = await client.post("/onload", json={"tags": ["weights"]})
            assert half.json() == {"route_key": "__default__", "state": "asleep", "asleep": ["kv_cache"], "bytes": 1000}
            assert (await client.post("/generate", json={"messages": USER})).status_code == 503
            whole = await client.post("/onload", json={})
            assert whole.json() == {"route_key": "__default__", "state": "ready", "asleep": [], "bytes": 1000}
            assert (await client.post("/generate", json={"messages": USER})).status_code == 200
            assert (await client.post("/onload", json={})).json()["bytes"] == 0

    asyncio.run(run())


def test_an_engine_that_cannot_sleep_says_so() -> None:
    async def run() -> None:
        async with client_of(make_app(Puppet())) as client:
            refused = await client.post("/offload", json={})
            assert refused.status_code == 400
            assert "cannot give its memory back" in refused.json()["error"]["message"]
            assert (await client.post("/offload", json={"tags": ["all"]})).status_code == 422
            assert (await client.post("/offload", json={"route_key": "x"})).status_code == 404
            assert (await client.post("/generate", json={"messages": USER})).status_code == 200

    asyncio.run(run())


def test_a_client_gone_is_counted_as_cancelled() -> None:
    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        app = make_app(engine)
        generations = app.state.gateway.instances["__default__"].generations
        async with running(app, PORT_0) as url, aiohttp.ClientSession() as session:
            request = asyncio.create_task(session.post(f"{url}/generate", json={"messages": USER}))
            await until(lambda: len(engine.requests) == 1)
            request.cancel()
            await until(lambda: generations.requests == 1)
            assert generations.failures == {str(FailureKind.CANCELLED): 1}

    asyncio.run(run())
