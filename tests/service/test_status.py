from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError, StartError
from assay.engines.base import EngineHealth
from assay.engines.pool.report import PoolReport, Waiter
from assay.scoring.recorder import Recorder
from assay.service.gateway import Gateway

from .doubles import ITEM, USER, Puppet, SleepyPuppet, call, client_of, make_app


def test_a_healthy_service_says_so_to_the_byte() -> None:
    reply = call(make_app(Puppet()), "GET", "/health")
    assert (reply.status_code, reply.content) == (200, b'{"status":"healthy","service":"genrm"}')


def test_named_instances_are_told_one_by_one() -> None:
    sick = Puppet(told=EngineHealth(healthy=False, state="lost", error="connection refused"))
    reply = call(make_app({"quality": Puppet(), "safety": Puppet()}), "GET", "/health")
    assert reply.json() == {
        "status": "healthy",
        "service": "genrm",
        "instances": {"quality": {"status": "healthy"}, "safety": {"status": "healthy"}},
    }
    reply = call(make_app({"quality": Puppet(), "safety": sick}), "GET", "/health")
    assert reply.status_code == 503
    assert reply.json() == {
        "status": "unhealthy",
        "service": "genrm",
        "instances": {
            "quality": {"status": "healthy"},
            "safety": {"status": "unhealthy", "state": "lost", "error": "connection refused"},
        },
    }


def test_a_service_is_unhealthy_until_its_engine_runs_and_takes_no_requests() -> None:
    async def while_starting() -> None:
        engine = Puppet(start_gate=asyncio.Event())
        app = make_app(engine)
        gateway: Gateway = app.state.gateway
        async with client_of(app, ready=False) as client:
            health = await client.get("/health")
            assert (health.status_code, health.json()["state"]) == (503, "starting")
            refused = await client.post("/generate", json={"messages": USER})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
            assert engine.start_gate is not None
            engine.start_gate.set()
            await gateway.ready()
            assert (await client.get("/health")).status_code == 200
            assert (await client.post("/generate", json={"messages": USER})).status_code == 200

    asyncio.run(while_starting())


def test_an_engine_that_cannot_start_is_told_and_does_not_stop_the_others() -> None:
    async def run() -> None:
        app = make_app({"good": Puppet(), "bad": Puppet(start_error=StartError("no such model 'x'"))})
        gateway: Gateway = app.state.gateway
        async with client_of(app, ready=False) as client:
            with pytest.raises(StartError, match="no such model"):
                await gateway.ready()
            health = await client.get("/health")
            assert health.status_code == 503
            assert health.json()["instances"]["bad"] == {
                "status": "unhealthy",
                "state": "failed",
                "error": "no such model 'x'",
            }
            assert (await client.post("/generate", json={"messages": USER, "route_key": "good"})).status_code == 200
            refused = await client.post("/generate", json={"messages": USER, "route_key": "bad"})
            assert refused.status_code == 502
            assert "could not start: no such model 'x'" in refused.json()["error"]["message"]

    asyncio.run(run())


def test_health_does_not_wait_for_a_silent_engine() -> None:
    async def run() -> None:
        async with client_of(make_app(Puppet(health_gate=asyncio.Event()), health_timeout_s=0.05)) as client:
            begin = time.perf_counter()
            health = await client.get("/health")
            assert time.perf_counter() - begin < 0.5
            assert health.status_code == 503
            assert health.json()["error"] == "the engine said nothing within 0.05 s"
            assert (await client.get("/metrics")).status_code == 200

    asyncio.run(run())


def test_asleep_on_purpose_is_healthy() -> None:
    async def run() -> None:
        async with client_of(make_app(SleepyPuppet())) as client:
            await client.post("/offload", json={})
            health = await client.get("/health")
            assert health.status_code == 200
            assert health.json() == {"status": "healthy", "service": "genrm", "state": "asleep"}

    asyncio.run(run())


def test_a_lost_rule_engine_is_told() -> None:
    lost = Puppet(told=EngineHealth(healthy=False, state="lost", error="the pool is gone"))
    health = call(make_app(Puppet(), rules=lost), "GET", "/health")
    assert health.status_code == 503
    assert health.json()["rules"] == {"status": "unhealthy", "state": "lost", "error": "the pool is gone"}


def test_a_recorder_that_cannot_write_is_told_and_stops_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.error = "no space left"
    health = call(make_app(Puppet(), recorder=recorder), "GET", "/health")
    assert (health.status_code, health.json()["recorder"]) == (200, "no space left")


def test_metrics_are_facts_and_live_counters() -> None:
    async def run() -> None:
        engine = Puppet()
        async with client_of(make_app(engine)) as client:
            await client.post("/generate", json={"messages": USER})
            await client.post("/score", json={"judge": "verifier", "item": ITEM})
            engine.text = "maybe"
            await client.post("/score", json={"judge": "verifier", "item": ITEM | {"reference": "5"}})
            told = (await client.get("/metrics")).json()
            facts = {key: told[key] for key in ("service", "model_path", "num_gpus", "num_engines", "state")}
            assert facts == {
                "service": "genrm",
                "model_path": "puppet",
                "num_gpus": 2,
                "num_engines": 1,
                "state": "ready",
            }
            assert (told["in_flight"], told["queued"]) == (0, 0)
            assert told["generations"]["requests"] == 1
            assert (told["judgments"]["verdicts"], told["judgments"]["failures"]) == (1, {"parse_error": 1})
            assert told["engine"] == {"kv_blocks": 3}

    asyncio.run(run())


def test_metrics_of_named_instances_go_by_key() -> None:
    told = call(make_app({"quality": Puppet(), "safety": Puppet()}, rules=Puppet()), "GET", "/metrics").json()
    assert set(told) == {"service", "instances", "rules", "judges"}
    assert set(told["instances"]) == {"quality", "safety"}


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
def test_prometheus_is_served_when_asked_for(accept: str) -> None:
    async def run() -> str:
        engine = Puppet()
        async with client_of(make_app(engine)) as client:
            await client.post("/generate", json={"messages": USER})
            await client.post("/generate", json={"messages": USER, "route_key": "x"})
            await client.get("/nowhere")
            await client.post("/score", json={"judge": "verifier", "item": ITEM})
            reply = await client.get("/metrics", headers={"accept": accept})
            assert reply.headers["content-type"].startswith(accept.split(";")[0])
            return reply.text

    text = asyncio.run(run())
    for line in (
        'assay_requests_total{route="/genrm/generate",status="200"} 1.0',
        'assay_requests_total{route="/genrm/generate",status="404"} 1.0',
        'assay_requests_total{route="other",status="404"} 1.0',
        'assay_judgments_total{instance="__default__",outcome="verdict"} 1.0',
        'assay_tokens_total{instance="__default__",kind="prompt"} 20.0',
        'assay_in_flight{instance="__default__"} 0.0',
        'assay_request_seconds_count{route="/genrm/generate"} 2.0',
    ):
        assert line in text


@dataclass
class Pool(Puppet):
    """Tells what happens in it; or raises; or, while ``report_gate`` is shut, says nothing."""

    lost: AssayError | None = None
    report_gate: asyncio.Event | None = None

    async def report(self) -> PoolReport:
        if self.report_gate is not None:
            await self.report_gate.wait()
        if self.lost is not None:
            raise self.lost
        waiter = Waiter(request_id="r", replica=None, waited_s=1.2345, tokens=30, attempts=2)
        return PoolReport(counters={"deaths": 3, "wake_s": 0.25, "slept_bytes": 7}, waiting=(waiter,))


async def both_metrics(engine: Puppet) -> tuple[dict[str, Any], str]:
    async with client_of(make_app(engine, health_timeout_s=0.1)) as client:
        told = (await client.get("/metrics")).json()
        return told, (await client.get("/metrics", headers={"accept": "text/plain"})).text


def test_metrics_tell_what_happens_in_a_pool_wherever_it_runs() -> None:
    told, text = asyncio.run(both_metrics(Pool()))
    assert told["waiting"] == [{"request_id": "r", "replica": None, "waited_s": 1.234, "tokens": 30, "attempts": 2}]
    for line in (
        'assay_engine_events_total{event="deaths",instance="__default__"} 3.0',
        'assay_engine_last{instance="__default__",what="wake_s"} 0.25',
        'assay_engine_last{instance="__default__",what="slept_bytes"} 7.0',
        'assay_longest_wait_seconds{instance="__default__"} 1.2345',
    ):
        assert line in text


def test_a_pool_that_cannot_be_asked_stops_no_scrape() -> None:
    for engine in (Pool(lost=StartError("its keeper is gone")), Pool(report_gate=asyncio.Event()), Puppet()):
        told, text = asyncio.run(both_metrics(engine))
        assert (told["waiting"], told["state"]) == ([], "ready")
        assert 'assay_in_flight{instance="__default__"} 0.0' in text
        assert "assay_engine_events_total{" not in text


def test_two_apps_in_one_process_count_apart() -> None:
    apps = [make_app(Puppet()), make_app(Puppet())]
    for app in apps:
        text = call(app, "GET", "/metrics", headers={"accept": "text/plain"}).text
        assert 'route="/genrm/metrics"' not in text
