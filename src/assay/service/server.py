"""The app on a socket: bound by us (so that a port in use is a clear error), run by uvicorn, stopped without loss."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import cast

import uvicorn
from fastapi import FastAPI

from assay.core.errors import StartError

from .gateway import Gateway
from .settings import ServiceSettings

_BACKLOG = 2048
_KEEP_ALIVE_S = 75
"""Longer than clients keep idle connections, so that it is they who close them: no request meets a closing socket."""


class _Server(uvicorn.Server):
    """Leaves the process's signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        StartError: the port is taken, or the address is not ours to bind.
    """
    # Only with the protocol said does asyncio switch Nagle's algorithm off; else every reply waits 40 ms for an ACK.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            fix = "stop what listens there, or name another with --port (0 takes any free one)"
            raise StartError(f"port {port} on {host!r} is in use: {fix}") from error
        raise StartError(f"cannot listen on {host!r}, port {port}: {error.strerror or error}") from error
    return listener


@asynccontextmanager
async def running(app: FastAPI, settings: ServiceSettings) -> AsyncGenerator[str]:
    """The service in this event loop, from ready to drained; gives its base URL (prefix included).

    Leaving lets running requests end (up to ``settings.drain_s``), closes the engines and seals the recorder.

    Raises:
        StartError, InputError: the port is taken, or an engine could not be started.
    """
    listener = bind(settings.host, settings.port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=settings.drain_s,
        ws="none",
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    ready = asyncio.create_task(cast(Gateway, app.state.gateway).ready())
    try:
        await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            raise StartError("the server ended before it was ready; the log says why")
        await ready
        yield _url(listener, settings)
    finally:
        ready.cancel()
        server.should_exit = True
        await serving
        listener.close()


def serve(app: FastAPI, settings: ServiceSettings) -> None:
    """Run the service until SIGINT or SIGTERM, and stop it cleanly; a second signal stops it at once.

    Raises:
        StartError, InputError: as in ``running``.
    """
    asyncio.run(_serve(app, settings))


async def _serve(app: FastAPI, settings: ServiceSettings) -> None:
    stopped = False
    task = asyncio.current_task()
    assert task is not None

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        async with running(app, settings) as url:
            # What was made up to here stays; looking through it again would halt every request for 100 ms, every few
            # thousand requests.
            gc.collect()
            gc.freeze()
            print(f"Assay GenRM service ready: {url}  (Ctrl-C stops it)", flush=True)
            await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        if not stopped:
            raise
        task.uncancel()
        print("Assay GenRM service stopped", flush=True)


def _url(listener: socket.socket, settings: ServiceSettings) -> str:
    port: int = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{settings.prefix}"
