"""The app: routes, boundary, error shape and lifespan put together. It runs under any ASGI server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from assay import __version__
from assay.core.errors import GenerationError, InputError

from .boundary import Boundary
from .call import BodyTooLarge
from .direct import direct_route
from .gateway import Gateway, NotFound
from .hub import Hub
from .metrics import ServiceMetrics
from .replies import error_reply, failure_reply
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
    router = APIRouter(prefix=settings.prefix, route_class=direct_route(settings.max_body_bytes))
    add_generate(router, gateway, settings)
    add_score(router, gateway, settings)
    add_status(router, gateway, settings, metrics)
    add_chat(router, gateway, settings)
    add_offload(router, gateway, settings)
    app.include_router(router)
    _add_error_shape(app)
    paths = [path for path in app.openapi()["paths"] if isinstance(path, str)]
    app.add_middleware(Boundary, settings=settings, metrics=metrics, paths=paths)
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

    @app.exception_handler(GenerationError)
    async def not_answered(_: Request, error: GenerationError) -> Response:
        return failure_reply(error)

    @app.exception_handler(NotFound)
    async def not_found(_: Request, error: NotFound) -> Response:
        return error_reply(404, str(error))

    @app.exception_handler(InputError)
    async def malformed(_: Request, error: InputError) -> Response:
        return error_reply(422, str(error))

    @app.exception_handler(BodyTooLarge)
    async def too_large(_: Request, error: BodyTooLarge) -> Response:
        return error_reply(413, str(error), {"Connection": "close"})

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        return error_reply(error.status_code, f"{error.detail}: {request.method} {request.url.path}", error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return error_reply(422, "; ".join(f"{fault['loc']}: {fault['msg']}" for fault in error.errors()))
