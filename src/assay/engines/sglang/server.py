"""The HTTP side: one aiohttp session to one server on the loopback interface.

Owns connections, and what it means when one breaks. Does not own deadlines of generations (``flights`` bounds them) nor
what is sent (``body``). Control calls are bounded here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from assay.core.errors import GenerationError
from assay.core.types import FailureKind

from .failures import malformed, read_failure

CONNECT_S = 5.0
ABORT_S = 5.0
KEEP_ALIVE_S = 30.0
SERVER_KEEP_ALIVE_S = 120
"""The server keeps idle connections longer than we do, so that no request meets one that is just closing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply."""

    status: int
    text: str
    path: str

    def data(self) -> Any:
        """The JSON of a 200. Raises GenerationError: another status, or no JSON."""
        if self.status != 200:
            raise read_failure(self.status, self.text, self.path)
        try:
            return json.loads(self.text)
        except ValueError as error:
            raise malformed(f"{self.path} answered {self.text!r:.120}") from error


class Server:
    """Make it inside a running event loop; close it."""

    def __init__(self, port: int, control_timeout_s: float) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._control_timeout_s = control_timeout_s
        self._session = aiohttp.ClientSession(
            headers={"Content-Type": "application/json"},
            # No bound on connections: a bound would make control calls queue behind generations.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            # A proxy of the environment has no business between us and the loopback interface.
            trust_env=False,
        )

    async def close(self) -> None:
        """Close all connections; what still runs on them fails."""
        await self._session.close()

    async def send(self, path: str, body: Mapping[str, Any]) -> Reply:
        """Post a body; the caller bounds the time. Raises GenerationError (engine_error): the connection broke."""
        self._check_open(path)
        try:
            async with self._session.post(self.url + path, data=json.dumps(body).encode()) as response:
                return Reply(response.status, await response.text(errors="replace"), path)
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(path, error) from error

    @asynccontextmanager
    async def open(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[aiohttp.ClientResponse]:
        """A reply whose body is still to come; leaving closes the connection. Raises GenerationError."""
        self._check_open(path)
        try:
            response = await self._session.post(self.url + path, data=json.dumps(body).encode())
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(path, error) from error
        try:
            if response.status != 200:
                raise read_failure(response.status, await self.read_all(response), path)
            yield response
        finally:
            response.close()

    async def read(self, response: aiohttp.ClientResponse) -> bytes:
        """The next piece of a body; empty at its end. Raises GenerationError."""
        try:
            return await response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(response.url.path, error) from error

    async def read_all(self, response: aiohttp.ClientResponse) -> str:
        """The whole body as text. Raises GenerationError."""
        try:
            return await response.text(errors="replace")
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(response.url.path, error) from error

    async def get(self, path: str, timeout_s: float) -> Reply:
        """A reading. Raises GenerationError (engine_error): no reply in time."""
        return await self._bounded("GET", path, None, timeout_s)

    async def control(self, path: str, body: Mapping[str, Any]) -> Reply:
        """A control call, any status. Raises GenerationError: no reply in time, so what it did is unknown."""
        return await self._bounded("POST", path, body, self._control_timeout_s)

    async def abort(self, rid: str) -> None:
        """Abort a generation; says nothing about whether there was one. Raises GenerationError."""
        if not rid:
            raise ValueError("an empty request id would match every request of the server")
        await self._bounded("POST", "/abort_request", {"rid": rid}, ABORT_S)

    async def _bounded(self, method: str, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> Reply:
        self._check_open(path)
        data = None if body is None else json.dumps(body).encode()
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session.request(method, self.url + path, data=data) as response,
            ):
                return Reply(response.status, await response.text(errors="replace"), path)
        except TimeoutError:
            detail = f"SGLang did not answer {path} within {timeout_s:g} s"
            raise GenerationError(FailureKind.ENGINE_ERROR, detail) from None
        except (aiohttp.ClientError, OSError) as error:
            raise _lost(path, error) from error

    def _check_open(self, path: str) -> None:
        if self._session.closed:
            raise GenerationError(FailureKind.ENGINE_ERROR, f"SGLang is gone; {path} was not sent")


def _lost(path: str, error: Exception) -> GenerationError:
    return GenerationError(FailureKind.ENGINE_ERROR, f"the connection to SGLang broke at {path}: {error!r:.200}")
