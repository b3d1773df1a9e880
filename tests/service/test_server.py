from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import pytest

from assay.core.errors import StartError
from assay.scoring.journal import read_sealed
from assay.scoring.recorder import Recorder
from assay.service.server import bind, running
from assay.service.settings import ServiceSettings

from .doubles import USER, Puppet, make_app, until

JSON = {"Content-Type": "application/json"}
PORT_0 = ServiceSettings(port=0, drain_s=5)

SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from tests.service.doubles import Puppet, make_app
from assay.service.server import serve
from assay.service.settings import ServiceSettings
serve(make_app(Puppet()), ServiceSettings(port=0, drain_s=2))
"""


def test_a_port_in_use_is_named_with_the_fix() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=rf"port {port} on '127.0.0.1' is in use: .*--port"):
            bind("127.0.0.1", port)


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(StartError, match=r"cannot listen on '192\.0\.2\.1'"):
        bind("192.0.2.1", 0)


def test_connections_do_not_wait_for_nagle() -> None:
    async def run() -> list[float]:
        async with running(make_app(Puppet()), PORT_0) as url, aiohttp.ClientSession() as session:
            seconds: list[float] = []
            for _ in range(10):
                begin = time.perf_counter()
                async with session.post(f"{url}/generate", json={"messages": USER}) as reply:
                    await reply.read()
                seconds.append(time.perf_counter() - begin)
            return seconds

    assert sorted(asyncio.run(run()))[5] < 0.03


def test_a_body_over_the_limit_is_told_to_a_client_that_is_still_sending() -> None:
    async def run() -> None:
        async with running(make_app(Puppet(), max_body_bytes=1024), PORT_0) as url, aiohttp.ClientSession() as session:
            large = io.BytesIO(b"x" * 4_000_000)
            async with session.post(f"{url}/generate", data=large, headers=JSON) as reply:
                assert reply.status == 413
            async with session.post(f"{url}/generate", json={"messages": USER}) as reply:
                assert reply.status == 200

    asyncio.run(run())


def test_leaving_lets_running_requests_end_and_closes_everything(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)

    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        async with aiohttp.ClientSession() as session:
            async with running(make_app(engine, recorder=recorder), PORT_0) as url:
                request = asyncio.create_task(session.post(f"{url}/generate", json={"messages": USER}))
                await until(lambda: len(engine.requests) == 1)
                assert engine.gate is not None
                asyncio.get_running_loop().call_later(0.1, engine.gate.set)
            reply = await request
            assert (reply.status, await reply.json()) == (200, {"response": "1"})
            assert engine.closed == 1
            with pytest.raises(aiohttp.ClientConnectionError):
                await session.get(f"{url}/health")

    asyncio.run(run())
    (path,) = tmp_path.glob("*.parquet")
    assert len(list(read_sealed(path))) == 1


def test_what_outlasts_the_drain_is_cancelled() -> None:
    async def run() -> None:
        engine = Puppet(gate=asyncio.Event())
        async with aiohttp.ClientSession() as session:
            async with running(make_app(engine), ServiceSettings(port=0, drain_s=0)) as url:
                request = asyncio.create_task(session.post(f"{url}/generate", json={"messages": USER}))
                await until(lambda: len(engine.requests) == 1)
            assert (engine.cancelled, engine.closed) == (1, 1)
            with pytest.raises(aiohttp.ClientError):
                (await request).raise_for_status()

    asyncio.run(run())


def test_an_engine_that_cannot_start_ends_the_start() -> None:
    async def run() -> None:
        engine = Puppet(start_error=StartError("the weights of 'x' are not there"))
        with pytest.raises(StartError, match="weights of 'x'"):
            async with running(make_app(engine), PORT_0):
                pytest.fail("it must not be ready")
        assert engine.closed == 1

    asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_process_cleanly(number: signal.Signals) -> None:
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT.format(root=root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    ready = process.stdout.readline()
    assert ready.startswith("Assay GenRM service ready: http://127.0.0.1:")
    port = int(ready.split("http://127.0.0.1:")[1].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 0, stderr
    assert stdout == "Assay GenRM service stopped\n"
    assert "Traceback" not in stderr
