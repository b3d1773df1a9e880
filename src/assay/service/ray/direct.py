"""The way around the proxy: a replica listens on a port of its own, and ``/endpoints`` tells where all of them do.

It is the same app with the same bearer token and limits; only the hop through Ray Serve's proxy is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp

from assay.wire.endpoints import EndpointsReply

from ..replies import json_reply
from ..routes.documented import errors
from ..server import bind
from ..settings import ServiceSettings

_KEEP_ALIVE_S = 75


class _Server(uvicorn.Server):
    """Leaves the process's signals to Ray."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield


@asynccontextmanager
async def listening(app: ASGIApp, settings: ServiceSettings, address: str) -> AsyncGenerator[str]:
    """The app on a free port of ``address``; gives its base URL. Leaving lets running requests end."""
    listener = bind(address, 0)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=settings.drain_s,
        ws="none",
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    port: int = listener.getsockname()[1]
    host = f"[{address}]" if ":" in address else address
    try:
        yield f"http://{host}:{port}{settings.prefix}"
    finally:
        server.should_exit = True
        await serving
        listener.close()


def add_endpoints(app: FastAPI, settings: ServiceSettings, urls: Callable[[], tuple[str, ...]]) -> None:
    """Add the route; it says what ``urls`` says at that moment."""

    async def endpoints() -> Response:
        """Where else this very service answers: with fewer hops, so that many short judgments are not held up."""
        return json_reply({"endpoints": list(urls())})

    app.add_api_route(
        f"{settings.prefix}/endpoints",
        endpoints,
        methods=["GET"],
        response_model=EndpointsReply,
        responses=errors(401),
        tags=["status"],
    )
