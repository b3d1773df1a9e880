"""A route that FastAPI describes and that runs without FastAPI's machinery.

The signature (a ``body`` model) and the declared response models make the OpenAPI document, as on any other route. At
run time the body is parsed by pydantic from its bytes, once, and the endpoint's own ``Response`` is sent as it is: no
dependency solving and no validation of what we built ourselves. It costs about a third of a usual route.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from assay.wire.body import parse

from .call import Call

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def direct_route(max_body_bytes: int) -> type[APIRoute]:
    """The route class of one app. Its endpoints are ``async`` and take ``request``, ``body``, both or neither."""

    class DirectRoute(APIRoute):
        def get_route_handler(self) -> Handler:
            endpoint: Callable[..., Coroutine[Any, Any, Response]] = self.endpoint
            hints = get_type_hints(endpoint)
            model, wants_request = hints.get("body"), "request" in hints

            async def handle(request: Request) -> Response:
                arguments: dict[str, Any] = {"request": request} if wants_request else {}
                if model is not None:
                    arguments["body"] = parse(model, await Call.of(request).json_body(max_body_bytes))
                return await endpoint(**arguments)

            return handle

    return DirectRoute
