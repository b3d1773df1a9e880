from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.client import GenRMError, SyncGenRMClient
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.wire.score import ItemBody, VerdictReply

from ..service.doubles import USER, Puppet, make_app


@pytest.fixture
def url() -> Iterator[str]:
    """A service in another thread."""
    loop = asyncio.new_event_loop()
    found: list[str] = []
    ready, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with running(make_app(Puppet()), ServiceSettings(port=0, drain_s=1)) as address:
            found.append(address)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(5)
    yield found[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def test_calls_block_and_may_come_from_many_threads(url: str) -> None:
    with SyncGenRMClient(url) as client:
        assert client.generate(USER) == "1"
        assert isinstance(client.score("verifier", ItemBody(prompt="q", candidates=["a"], reference="a")), VerdictReply)
        assert client.health().status == "healthy"
        assert client.metrics()["service"] == "genrm"
        with pytest.raises(GenRMError, match="route_key='x'"):
            client.generate(USER, route_key="x")
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(lambda _: client.generate(USER), range(50))) == ["1"] * 50


def test_a_closed_client_leaves_no_thread(url: str) -> None:
    client = SyncGenRMClient(url)
    client.generate(USER)
    client.close()
    client.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "genrm client"]
    with pytest.raises(RuntimeError, match="closed"):
        client.generate(USER)
