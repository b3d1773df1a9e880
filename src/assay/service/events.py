"""Server-sent events: a reply whose failures before its first event still have their status."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from assay.core.errors import GenerationError
from assay.core.types import Json
from assay.wire.body import dump
from assay.wire.errors import error_body

DONE = b"data: [DONE]\n\n"


class EventStream(Response):
    """Sends events as they come, in the request's own task: cancelling that closes the source, down to the engine."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[dict[str, Json], None]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  ASGI's signature
        async with aclosing(self._events) as events:
            first = await anext(events)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _send_event(send, first)
            try:
                async for event in events:
                    await _send_event(send, event)
            except GenerationError as error:
                # The status has left already, so the error travels as an event, and no [DONE] follows.
                await _send_event(send, error_body(str(error.kind), error.detail))
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await send({"type": "http.response.body", "body": DONE, "more_body": False})


async def _send_event(send: Send, event: dict[str, Json]) -> None:
    await send({"type": "http.response.body", "body": b"data: " + dump(event) + b"\n\n", "more_body": True})
