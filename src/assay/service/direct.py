"""Routes that FastAPI describes and that run without its machinery.

The signature (a ``body`` model) and the declared reply models make the OpenAPI document, as on any other route. At run
time the boundary finds the endpoint by its whole path, the body is parsed by pydantic from its bytes, once, and the
endpoint's own ``Response`` is sent as it is: no route matching, no dependency solving, no validation of what we built
ourselves. Under a server that mounts the app below another path, FastAPI's router calls the same handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from assay.wire.body import parse

from .call import Call

Endpoint = Callable[..., Coroutine[Any, Any, Response]]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class DirectRoutes:
    """The routes of one app. Endpoints are ``async`` and take ``request``, ``body``, both or neither.

    ``handlers``: by method and whole path, for the boundary. ``router``: the same for FastAPI.
    """

    def __init__(self, prefix: str, max_body_bytes: int) -> None:
        self._prefix = prefix
        self._max_body_bytes = max_body_bytes
        self.handlers: dict[tuple[str, str], Handler] = {}
        self.router = APIRouter(prefix=prefix)

    def add(self, method: str, path: str, endpoint: Endpoint, **described: Any) -> None:
        """Add a route; ``described`` (reply models, tags, ...) is what ``APIRouter.add_api_route`` takes."""
        handler = _handler(endpoint, self._max_body_bytes)
        self.handlers[method, self._prefix + path] = handler

        class Direct(APIRoute):
            def get_route_handler(self) -> Handler:
                return handler

        self.router.add_api_route(path, endpoint, methods=[method], route_class_override=Direct, **described)


def _handler(endpoint: Endpoint, max_body_bytes: int) -> Handler:
    hints = get_type_hints(endpoint)
    model, wants_request = hints.get("body"), "request" in hints

    async def handle(request: Request) -> Response:
        arguments: dict[str, Any] = {"request": request} if wants_request else {}
        if model is not None:
            arguments["body"] = parse(model, await Call.of(request).json_body(max_body_bytes))
        return await endpoint(**arguments)

    return handle
