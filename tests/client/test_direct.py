"""The client around a proxy: endpoints asked for, spread over, lost, asked for again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from assay.client import GenRMClient, GenRMError
from assay.client.spread import ASK_AGAIN_S, ASK_EVERY_S, Spread

from ..service.doubles import USER


@dataclass(eq=False)
class Server:
    """A service in name: ``endpoints`` None answers 404; ``broken`` answers as a proxy does for a dead replica."""

    endpoints: list[str] | None = None
    broken: int = 0
    asked: int = 0
    calls: int = 0
    tokens: set[str | None] = field(default_factory=set[str | None])
    url: str = ""

    async def serve(self, stack: AsyncExitStack) -> None:
        app = web.Application()
        app.router.add_get("/genrm/endpoints", self._tell)
        app.router.add_post("/genrm/generate", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/genrm"

    async def _tell(self, request: web.Request) -> web.Response:
        self.asked += 1
        self.tokens.add(request.headers.get("Authorization"))
        if self.endpoints is None:
            return web.json_response({"error": {"type": "not_found", "message": "Not Found"}}, status=404)
        return web.json_response({"endpoints": self.endpoints})

    async def _answer(self, request: web.Request) -> web.Response:
        self.calls += 1
        self.tokens.add(request.headers.get("Authorization"))
        if self.broken:
            self.broken -= 1
            return web.Response(status=500, text="Internal Server Error")
        return web.json_response({"response": "1"})


@asynccontextmanager
async def served(*servers: Server, **options: object) -> AsyncGenerator[GenRMClient]:
    """The first one is the proxy; the client knows only that."""
    async with AsyncExitStack() as stack:
        for server in servers:
            await server.serve(stack)
        if servers[1:]:
            servers[0].endpoints = [server.url for server in servers[1:]]
        client = GenRMClient(servers[0].url, timeout_s=10, direct=True, **options)  # type: ignore[arg-type]
        yield await stack.enter_async_context(client)


def test_calls_are_spread_over_the_endpoints_with_the_token_and_the_proxy_is_asked_once() -> None:
    async def run() -> None:
        proxy, one, two = Server(), Server(), Server()
        async with served(proxy, one, two, api_key="k") as client:
            await asyncio.gather(*(client.generate(USER) for _ in range(40)))
        assert (proxy.asked, proxy.calls, one.calls, two.calls) == (1, 0, 20, 20)
        assert proxy.tokens | one.tokens | two.tokens == {"Bearer k"}

    asyncio.run(run())


def test_a_service_without_endpoints_is_called_at_its_own_address() -> None:
    async def run() -> None:
        plain = Server()
        async with served(plain) as client:
            for _ in range(3):
                assert await client.generate(USER) == "1"
        assert (plain.asked, plain.calls) == (1, 3)

    asyncio.run(run())


def test_a_lost_endpoint_costs_a_call_nothing_but_the_way_through_the_proxy() -> None:
    async def run() -> None:
        proxy, one = Server(), Server()
        async with served(proxy, one) as client:
            assert proxy.endpoints is not None
            proxy.endpoints.append("http://127.0.0.1:1/genrm")
            await asyncio.gather(*(client.generate(USER) for _ in range(20)))
            assert one.calls + proxy.calls == 20
            assert proxy.calls == 10
            # The lost one is left out from here on.
            await asyncio.gather(*(client.generate(USER) for _ in range(20)))
            assert proxy.calls == 10

    asyncio.run(run())


def test_what_a_proxy_says_for_a_dead_replica_is_tried_again_and_what_the_service_says_is_not() -> None:
    async def run() -> None:
        proxy = Server(broken=2)
        async with served(proxy) as client:
            assert await client.generate(USER) == "1"
            assert proxy.calls == 3
            proxy.broken = 100
            with pytest.raises(GenRMError, match="HTTP 500 of a proxy") as caught:
                await client.generate(USER)
            assert caught.value.type == "unreachable"

    asyncio.run(run())


def test_when_to_ask() -> None:
    spread = Spread("home")
    assert spread.due(0.0)
    assert not spread.due(ASK_AGAIN_S / 2)
    assert spread.due(ASK_AGAIN_S + 0.1)  # nothing was told
    spread.told(["a", "b"])
    assert not spread.due(ASK_AGAIN_S * 3)
    assert spread.due(ASK_AGAIN_S + ASK_EVERY_S + 0.2)
    spread.lost("a")
    assert spread.due(ASK_EVERY_S + ASK_AGAIN_S * 3)
    spread.told((), for_good=True)
    assert not spread.due(ASK_EVERY_S + ASK_AGAIN_S * 5)


def test_the_idlest_endpoint_is_next() -> None:
    spread = Spread("home")
    spread.told(["a", "b", "c"])
    with spread.call() as first, spread.call() as second:
        assert {first, second} < {"a", "b", "c"}
        with spread.call() as third:
            assert {first, second, third} == {"a", "b", "c"}
        with spread.call() as again:
            assert again == third
        spread.told([second, "d"])
        with spread.call() as new:
            assert new == "d"
    spread.lost("d")
    spread.lost(second)
    with spread.call() as url:
        assert url == "home"
    with spread.call(home=True) as url:
        assert url == "home"
