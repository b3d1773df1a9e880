"""The outermost layer of the app: request ids, the bearer token, metrics, and the last stop of every exception.

Pure ASGI: it adds no task and copies no body. Nothing internal leaves in an error reply; the log has it, under the id.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .call import Call
from .metrics import ServiceMetrics
from .replies import error_reply
from .settings import ServiceSettings

log = logging.getLogger(__name__)

_CLIENT_GONE = 499


class Boundary:
    """Wraps the whole app."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, metrics: ServiceMetrics, paths: Iterable[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)
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
            if self._refused(scope["path"], call):
                reply = error_reply(401, "missing or wrong bearer token", {"WWW-Authenticate": "Bearer"})
                await reply(scope, receive, tagged)
            else:
                await self._app(scope, receive, tagged)
        except asyncio.CancelledError:
            if call.given_up is None:
                raise
        except Exception:  # the boundary: nothing else stands between a fault of ours and the client
            log.exception("request %s failed: %s %s", call.request_id, scope["method"], scope["path"])
            if status:
                raise
            await error_reply(500, f"internal error; the log has it under request {call.request_id}")(
                scope, receive, tagged
            )
        finally:
            seconds = time.perf_counter() - begin
            path = scope["path"]
            self._metrics.observe(path if path in self._paths else "other", status or _CLIENT_GONE, seconds)
            if log.isEnabledFor(logging.DEBUG):
                log.debug("%s %s %s %d %.4fs", call.request_id, scope["method"], path, status or _CLIENT_GONE, seconds)

    def _refused(self, path: str, call: Call) -> bool:
        if self._token is None or path == self._open_path:
            return False
        return not hmac.compare_digest(call.headers.get(b"authorization", b""), self._token)
