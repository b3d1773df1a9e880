from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator

import pytest

from .doubles import USER, Puppet, call, client_of, make_app, post, until

KEY = {"api_key": "s3cret"}


@pytest.mark.parametrize(
    ("method", "path", "status", "type_"),
    [("GET", "/nowhere", 404, "not_found"), ("GET", "/generate", 405, "method_not_allowed")],
)
def test_errors_of_the_router_have_the_shape_too(method: str, path: str, status: int, type_: str) -> None:
    reply = call(make_app(Puppet()), method, path)
    assert reply.status_code == status
    assert reply.json()["error"]["type"] == type_
    assert path in reply.json()["error"]["message"]


def test_a_fault_of_ours_is_a_500_that_tells_nothing_but_the_request_id(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Puppet):
        @property
        def info(self):  # type: ignore[no-untyped-def]
            raise ZeroDivisionError("secret detail")

    reply = call(make_app(Broken()), "GET", "/metrics", headers={"x-request-id": "abc"})
    assert reply.status_code == 500
    assert reply.json() == {
        "error": {"type": "internal_error", "message": "internal error; the log has it under request abc"}
    }
    assert "secret" not in reply.text
    (record,) = [r for r in caplog.records if r.name == "assay.service.boundary" and r.levelname == "ERROR"]
    assert "abc" in record.message
    assert record.exc_info is not None


def test_request_ids_are_echoed_made_up_and_never_believed_blindly() -> None:
    app = make_app(Puppet())
    assert (
        call(app, "GET", "/health", headers={"x-request-id": "run-1.step:2"}).headers["x-request-id"] == "run-1.step:2"
    )
    made_up = {call(app, "GET", "/health").headers["x-request-id"] for _ in range(3)}
    assert len(made_up) == 3
    for wrong in ("a b", "x" * 129, "é"):
        own = call(app, "GET", "/health", headers=[(b"x-request-id", wrong.encode())]).headers["x-request-id"]
        assert re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", own)


def test_requests_are_logged_under_their_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "assay.service"):
        post(make_app(Puppet()), "/generate", {"messages": USER}, headers={"x-request-id": "r9"})
    assert any("r9 POST /genrm/generate 200" in record.message for record in caplog.records)


@pytest.mark.parametrize("given", [None, "Bearer wrong", "s3cret", "Basic s3cret", "Bearer s3crets"])
def test_without_the_token_nothing_is_answered(given: str | None) -> None:
    engine = Puppet()
    headers = {} if given is None else {"authorization": given}
    for path in ("/generate", "/metrics", "/nowhere", "/v1/models"):
        reply = call(make_app(engine, **KEY), "GET", path, headers=headers)
        assert reply.status_code == 401
        assert reply.json() == {"error": {"type": "unauthorized", "message": "missing or wrong bearer token"}}
        assert reply.headers["www-authenticate"] == "Bearer"
    assert not engine.requests


def test_with_the_token_everything_is_and_health_needs_none() -> None:
    headers = {"authorization": "Bearer s3cret"}
    assert post(make_app(Puppet(), **KEY), "/generate", {"messages": USER}, headers=headers).status_code == 200
    assert call(make_app(Puppet(), **KEY), "GET", "/health").status_code == 200


def test_the_documents_need_the_token_too() -> None:
    app = make_app(Puppet(), **KEY)
    assert call(app, "GET", "/openapi.json", prefix="").status_code == 401


def test_a_body_over_the_limit_is_a_413_said_or_streamed() -> None:
    large = b'{"messages":[{"role":"user","content":"' + b"x" * 3000 + b'"}]}'
    json_type = {"content-type": "application/json"}

    async def streamed() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 500):
            yield large[start : start + 500]

    async def run() -> None:
        async with client_of(make_app(Puppet(), max_body_bytes=2048)) as client:
            said = await client.post("/generate", content=large, headers=json_type)
            assert said.status_code == 413
            assert said.json()["error"] == {
                "type": "body_too_large",
                "message": f"the body has {len(large)} bytes; the limit is 2048",
            }
            told = await client.post("/generate", content=streamed(), headers=json_type)
            assert told.status_code == 413
            assert "more than 2048 bytes" in told.json()["error"]["message"]
            assert (await client.post("/generate", json={"messages": USER})).status_code == 200

    asyncio.run(run())


def test_a_full_queue_is_a_429_within_milliseconds_while_the_others_are_served() -> None:
    async def run() -> None:
        gate = asyncio.Event()
        engine = Puppet(gate=gate)
        async with client_of(make_app(engine, max_in_flight=2, max_queue=3)) as client:
            admitted = [asyncio.create_task(client.post("/generate", json={"messages": USER})) for _ in range(5)]
            await until(lambda: len(engine.requests) == 2)
            begin = time.perf_counter()
            refused = await asyncio.gather(*(client.post("/generate", json={"messages": USER}) for _ in range(20)))
            assert time.perf_counter() - begin < 0.5
            assert {reply.status_code for reply in refused} == {429}
            assert all(int(reply.headers["retry-after"]) >= 1 for reply in refused)
            metrics = (await client.get("/metrics")).json()
            assert (metrics["in_flight"], metrics["queued"]) == (2, 3)
            assert metrics["generations"]["failures"] == {"overloaded": 20}
            gate.set()
            assert {(await reply).status_code for reply in admitted} == {200}
            assert len(engine.requests) == 5

    asyncio.run(run())


def test_one_instance_under_load_does_not_hold_up_another() -> None:
    async def run() -> None:
        busy = Puppet(gate=asyncio.Event())
        async with client_of(make_app({"busy": busy, "idle": Puppet()}, max_in_flight=1, max_queue=0)) as client:
            held = asyncio.create_task(client.post("/generate", json={"messages": USER, "route_key": "busy"}))
            await until(lambda: len(busy.requests) == 1)
            statuses = [
                (await client.post("/generate", json={"messages": USER, "route_key": key})).status_code
                for key in ("busy", "idle")
            ]
            assert statuses == [429, 200]
            assert busy.gate is not None
            busy.gate.set()
            await held

    asyncio.run(run())


def test_the_prefix_is_configurable_and_may_be_empty() -> None:
    assert call(make_app(Puppet(), prefix="judge/"), "GET", "/health", prefix="/judge").status_code == 200
    assert call(make_app(Puppet(), prefix="/"), "GET", "/health", prefix="").status_code == 200


def test_mounted_below_another_path_the_same_routes_answer() -> None:
    from fastapi import FastAPI

    from assay.service.gateway import Gateway

    inner = make_app(Puppet())
    outer = FastAPI()
    outer.mount("/judges", inner)
    gateway: Gateway = inner.state.gateway

    async def run() -> None:
        import httpx

        await gateway.start()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://s/judges/genrm") as client:
            assert (await client.post("/generate", json={"messages": USER})).json() == {"response": "1"}
            assert (await client.post("/generate", json={"messages": USER, "route_key": "x"})).status_code == 404

    asyncio.run(run())
