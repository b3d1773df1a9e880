"""The app: routes, boundary, error shape and lifespan put together. It runs under any ASGI server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from assay import __version__
from assay.core.errors import AssayError

from .boundary import Boundary
from .direct import DirectRoutes
from .gateway import Gateway
from .hub import Hub
from .metrics import ServiceMetrics
from .replies import error_reply, reply_to
from .routes.chat import add_chat
from .routes.generate import add_generate
from .routes.offload import add_offload
from .routes.score import add_score
from .routes.status import add_status
from .settings import ServiceSettings

_ABOUT = """Generative reward models (LLM judges) as a service.

A judgment that failed is never a score: `/score` answers with a verdict or with a typed failure. Every error has
OpenAI's shape, `{"error": {"type", "message"}}`, and carries the `X-Request-Id` that the log knows."""


def create_app(hub: Hub, settings: ServiceSettings) -> FastAPI:
    """The service of ``hub``. Its engines start in the lifespan, behind a ``/health`` that says so."""
    gateway = Gateway(hub, settings)
    metrics = ServiceMetrics(gateway)
    app = FastAPI(title="Assay GenRM service", version=__version__, description=_ABOUT, lifespan=_lifespan(gateway))
    app.state.gateway = gateway
    routes = DirectRoutes(settings.prefix, settings.max_body_bytes)
    add_generate(routes, gateway, settings)
    add_score(routes, gateway, settings)
    add_status(routes, gateway, settings, metrics)
    add_chat(routes, gateway, settings)
    add_offload(routes, gateway, settings)
    app.include_router(routes.router)
    _add_error_shape(app)
    app.add_middleware(Boundary, settings=settings, metrics=metrics, handlers=routes.handlers)
    return app


def _lifespan(gateway: Gateway) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        starting = asyncio.create_task(gateway.start())
        try:
            yield
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await gateway.close()

    return lifespan


def _add_error_shape(app: FastAPI) -> None:
    """Each exception that a route may raise, in its one reply."""

    @app.exception_handler(AssayError)
    async def failed(_: Request, error: AssayError) -> Response:
        return reply_to(error)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return error_reply(error.status_code, f"{error.detail}: {request.method} {request.url.path}", error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return error_reply(422, "; ".join(f"{fault['loc']}: {fault['msg']}" for fault in error.errors()))
