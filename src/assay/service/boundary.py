"""The outermost layer of the app: request ids, the bearer token, metrics, and the last stop of every exception.

Pure ASGI: it adds no task and copies no body. Nothing internal leaves in an error reply; the log has it, under the id.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Mapping

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.core.errors import AssayError

from .call import Call
from .direct import Handler
from .metrics import ServiceMetrics
from .replies import error_reply, reply_to
from .settings import ServiceSettings

log = logging.getLogger(__name__)

CLIENT_GONE = 499
"""The status counted for a request whose client left before there was one."""

_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_ELSEWHERE = {"Retry-After": "1", "Connection": "close"}


class Boundary:
    """Wraps the whole app, and calls the handlers that are found by method and whole path itself."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServiceSettings,
        metrics: ServiceMetrics,
        handlers: Mapping[tuple[str, str], Handler],
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._handlers = handlers
        self._paths = frozenset(path for _, path in handlers)
        self._open_path = f"{settings.prefix}/health"
        key = settings.api_key
        self._token = None if key is None else f"Bearer {key.get_secret_value()}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        call = Call(scope, receive)
        tag = (b"x-request-id", call.request_id.encode("ascii"))
        status = 0

        async def tagged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), tag]
            await send(message)

        try:
            await self._answer(scope, receive, tagged, call)
        except asyncio.CancelledError:
            if call.given_up is None:
                # The server stops and will not wait for longer: whoever still waits is told so, and may ask elsewhere.
                if not status:
                    await error_reply(503, "the service stopped before the answer was there", _ELSEWHERE)(
                        scope, receive, tagged
                    )
                raise
        except Exception:  # the boundary: nothing else stands between a fault of ours and the client
            log.exception("request %s failed: %s %s", call.request_id, scope["method"], scope["path"])
            if status:
                raise
            message = f"internal error; the log has it under request {call.request_id}"
            await error_reply(500, message)(scope, receive, tagged)
        finally:
            self._note(scope, call, status or CLIENT_GONE, time.perf_counter() - begin)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, call: Call) -> None:
        if self._refused(scope["path"], call):
            await error_reply(401, "missing or wrong bearer token", _CHALLENGE)(scope, receive, send)
            return
        handler = self._handlers.get((scope["method"], scope["path"]))
        if handler is None:
            await self._app(scope, receive, send)
            return
        try:
            reply = await handler(Request(scope, receive, send))
            # A stream's failures before its first event come from here; later ones it tells itself.
            await reply(scope, receive, send)
        except AssayError as error:
            await reply_to(error)(scope, receive, send)

    def _refused(self, path: str, call: Call) -> bool:
        if self._token is None or path == self._open_path:
            return False
        return not hmac.compare_digest(call.headers.get(b"authorization", b""), self._token)

    def _note(self, scope: Scope, call: Call, status: int, seconds: float) -> None:
        path = scope["path"]
        self._metrics.observe(path if path in self._paths else "other", status, seconds)
        level = logging.WARNING if status >= 500 else logging.DEBUG
        if log.isEnabledFor(level):
            log.log(level, "%s %s %s %d %.4f s", call.request_id, scope["method"], path, status, seconds)
