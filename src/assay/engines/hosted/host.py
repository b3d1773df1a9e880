"""The process of a hosted engine: ``python -m assay.engines.hosted.host SOCKET_FD``.

It serves one engine of the catalog over the listening Unix socket that it is handed. Its first line on standard input
is the engine's settings; the end of that pipe means that the parent has gone, and this process goes with it.

Owns the routes and the life of the process. Does not own the engine, nor when it sleeps.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from aiohttp import web

from assay.core import log as logs
from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import FailureKind
from assay.engines.base import Engine, Offloadable, Updatable
from assay.engines.catalog import build_engine, engine_config
from assay.engines.streaming import deltas_of

from .codec import (
    DEADLINE_HEADER,
    decode,
    dump_completion,
    dump_delta,
    dump_error,
    dump_health,
    dump_info,
    encode,
    load_request,
)
from .memory import give_back, held_bytes

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 3600.0
"""Longer than the parent keeps a connection, so that it never writes into one that closes."""
BACKLOG = 2048
"""Connections that may wait to be accepted: over a Unix socket one more is an error, not a wait."""
_MAX_BODY = 1 << 30
_PR_SET_PDEATHSIG = 1

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Host:
    """The engine behind its routes."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._config = engine_config(settings.pop("kind"), settings)
        self._engine: Engine = build_engine(self._config)
        self.ended = asyncio.Event()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY)
        routes: dict[str, Handler] = {
            "/start": self._start,
            "/generate": self._generate,
            "/stream": self._stream,
            "/health": self._health,
            "/sleep": self._sleep,
            "/wake": self._wake,
            "/update_weights": self._update,
            "/reload": self._reload,
            "/memory": self._memory,
            "/close": self._close,
        }
        for path, handler in routes.items():
            app.router.add_post(path, _typed(handler))
        return app

    async def _start(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002  aiohttp's signature
        await self._engine.start()
        return self._about()

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        asked = load_request(decode(await request.read()))
        answer = await self._engine.generate(asked, _deadline(request))
        return _json([dump_completion(one) for one in answer])

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """A delta a line. Until the first one an error has a status of its own; after that it is the last line."""
        asked = load_request(decode(await request.read()))
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        try:
            async with aclosing(deltas_of(self._engine, asked, _deadline(request))) as deltas:
                async for delta in deltas:
                    if not response.prepared:
                        await response.prepare(request)
                    await response.write(encode(dump_delta(delta)) + b"\n")
        except AssayError as error:
            if not response.prepared:
                raise
            await response.write(encode(dump_error(error)) + b"\n")
        if not response.prepared:
            await response.prepare(request)
        await response.write_eof()
        return response

    async def _health(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002
        return _json(dump_health(await self._engine.health()))

    async def _sleep(self, request: web.Request) -> web.StreamResponse:
        engine, tags = self._engine, frozenset(decode(await request.read()))
        if not isinstance(engine, Offloadable):
            raise _cannot(engine, "give its memory back")
        freed = await engine.sleep(tags)
        give_back()
        return _json(freed)

    async def _wake(self, request: web.Request) -> web.StreamResponse:
        engine, tags = self._engine, frozenset(decode(await request.read()))
        if not isinstance(engine, Offloadable):
            raise _cannot(engine, "take memory again")
        return _json(await engine.wake(tags))

    async def _update(self, request: web.Request) -> web.StreamResponse:
        engine, (source, version) = self._engine, decode(await request.read())
        if not isinstance(engine, Updatable):
            raise _cannot(engine, "take other weights")
        await engine.update_weights(source, version)
        return self._about()

    async def _reload(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002
        """The engine anew, from its files, in the same process."""
        await self._engine.close()
        self._engine = build_engine(self._config)
        await self._engine.start()
        return self._about()

    async def _memory(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002
        return _json(held_bytes() if self._config.kind == "embedded" else None)

    async def _close(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002
        await self._engine.close()
        self.ended.set()
        return _json(None)

    def _about(self) -> web.Response:
        return _json(dump_info(self._engine.info))


def _typed(handler: Handler) -> Handler:
    """Our errors travel with their type; anything else is aiohttp's plain 500, and the log has it."""

    async def typed(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except AssayError as error:
            return web.Response(status=409, body=encode(dump_error(error)), content_type="application/json")

    return typed


def _json(value: object) -> web.Response:
    return web.Response(body=encode(value), content_type="application/json")


def _deadline(request: web.Request) -> Deadline:
    left = request.headers.get(DEADLINE_HEADER)
    return Deadline.never() if left is None else Deadline.after(float(left))


def _cannot(engine: Engine, what: str) -> GenerationError:
    return GenerationError(FailureKind.BAD_REQUEST, f"the engine of {engine.info.model!r} cannot {what}")


async def serve(listener: socket.socket, settings: dict[str, Any]) -> None:
    """Serve until told to close. A request whose connection closes is cancelled, and with it the generation."""
    host = Host(settings)
    runner = web.AppRunner(host.app(), handler_cancellation=True, keepalive_timeout=KEEP_ALIVE_S, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listener, backlog=BACKLOG).start()
        await host.ended.wait()
    finally:
        await runner.cleanup()


def die_with_parent() -> None:
    """End this process and all that it started when the parent ends, however that ends, even if we hang then."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_wait_for_the_end, name="assay-parent", daemon=True).start()


def _wait_for_the_end() -> None:
    while os.read(0, 4096):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """The process. It leads a session of its own: a Ctrl-C in the terminal is the parent's business."""
    settings = decode(_first_line())
    die_with_parent()
    logs.setup()
    listener = socket.socket(fileno=int(sys.argv[1]))
    asyncio.run(serve(listener, settings))


def _first_line() -> bytes:
    """Unbuffered, so that what follows stays in the pipe."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit("the parent ended before it said what to run")
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
