"""The hosted engine: any engine of the catalog, in a process of its own, behind the engine protocols.

The parent's side. It speaks JSON over a Unix socket, a request a connection, so that closing one aborts the generation.
Owns the process. Does not decide when it is killed or rebuilt (``pool``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, StartError
from assay.core.types import Completion, FailureKind, Request
from assay.engines.base import Delta, EngineHealth, EngineInfo, Tag
from assay.engines.catalog import engine_config

from .codec import (
    DEADLINE_HEADER,
    decode,
    dump_request,
    encode,
    load_completion,
    load_delta,
    load_error,
    load_health,
    load_info,
)
from .config import HostedConfig
from .process import HostProcess

MAX_CONNECTIONS = 512
"""Requests on the wire at a time; more wait here for one to end."""
_LINE_BYTES = 1 << 22
_NOTICE_S = 0.2


class HostedEngine:
    """Engine, StreamingEngine, Offloadable and Updatable; refuses what the hosted engine cannot do. One event loop."""

    def __init__(self, config: HostedConfig) -> None:
        """Raises InputError for settings that the catalog refuses; nothing is started yet."""
        self.config = config
        options = dict(config.engine)
        inner = engine_config(str(options.pop("kind", "")), options)
        model = str(inner.model_dump().get("model") or inner.kind)
        self._info = EngineInfo(model=model, weight_version="", capabilities=frozenset())
        self._process: HostProcess | None = None
        self._requests: aiohttp.ClientSession | None = None
        self._control: aiohttp.ClientSession | None = None

    @property
    def info(self) -> EngineInfo:
        """Capabilities and version are known once it has started."""
        return self._info

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process and the engine in it.

        Raises:
            InputError: the engine says so. StartError: it did not start in time, or ended; with the end of its log.
        """
        self._process = await HostProcess.spawn(self.config)
        # Control calls do not queue behind requests.
        self._requests = _session(self._process.socket_path, MAX_CONNECTIONS)
        self._control = _session(self._process.socket_path, 0)
        try:
            self._info = load_info(await self._order("/start", None, Deadline.after(self.config.start_timeout_s)))
        except BaseException as error:
            tail = self._process.log_tail()
            self._process.kill()
            await self.close()
            if isinstance(error, GenerationError):
                raise StartError(f"{error.detail}; its log ends:\n{tail}") from error
            raise

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """See ``Engine.generate``. ENGINE_ERROR when the process ends, or is not there."""
        answer = await self._ask(self._requests, "/generate", dump_request(request), deadline)
        return tuple(map(load_completion, answer))

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        """See ``StreamingEngine.stream``."""
        async with self._answering("/stream", deadline):
            response = await self._post(self._requests, "/stream", dump_request(request), deadline)
        try:
            while True:
                async with self._answering("/stream", deadline):
                    line = await response.content.readline()
                if not line:
                    return
                data = decode(line)
                if "error" in data:
                    raise load_error(data)
                yield load_delta(data)
        finally:
            response.close()

    async def health(self) -> EngineHealth:
        """What the engine says; unhealthy when there is no process or it does not take the question."""
        if self._process is None or not self._process.alive:
            return EngineHealth(healthy=False, state="dead", error="its process does not run")
        try:
            return load_health(await self._order("/health", None, Deadline.never()))
        except GenerationError as error:
            # A process that has just ended drops the connection first and is known to have ended a little later.
            ended = await self._process.ended_within(_NOTICE_S)
            return EngineHealth(healthy=False, state="dead", error=error.detail if ended is None else ended)

    async def sleep(self, tags: frozenset[Tag]) -> int:
        """Bytes freed, as the engine says; ``held_bytes`` is how to check."""
        return int(await self._order("/sleep", sorted(tags), Deadline.never()))

    async def wake(self, tags: frozenset[Tag]) -> int:
        return int(await self._order("/wake", sorted(tags), Deadline.never()))

    async def update_weights(self, source: str, version: str) -> None:
        self._info = load_info(await self._order("/update_weights", [source, version], Deadline.never()))

    async def reload(self) -> None:
        """Throw the engine in the process away and start it again from its files."""
        self._info = load_info(await self._order("/reload", None, Deadline.after(self.config.start_timeout_s)))

    async def held_bytes(self) -> int | None:
        """Memory that the process holds where its model is; None where nobody can tell."""
        return await self._order("/memory", None, Deadline.never())

    async def lost(self) -> str:
        """Wait until the process has ended, and say how. It must have been started."""
        if self._process is None:
            raise self._gone("has not started")
        return await self._process.ended()

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        if self._process is not None:
            self._process.kill()

    async def close(self) -> None:
        """Let the engine close, then end its process, within ``close_timeout_s``."""
        try:
            await self._end_process()
        finally:
            sessions, self._requests, self._control = (self._requests, self._control), None, None
            for session in sessions:
                if session is not None:
                    await session.close()

    async def _end_process(self) -> None:
        process, seconds = self._process, self.config.close_timeout_s
        if process is None:
            return
        try:
            if process.alive:
                await self._order("/close", None, Deadline.after(seconds))
        except AssayError:
            process.kill()
        await process.clear(seconds)

    async def _order(self, path: str, body: object, deadline: Deadline) -> Any:
        return await self._ask(self._control, path, body, deadline)

    async def _ask(self, session: aiohttp.ClientSession | None, path: str, body: object, deadline: Deadline) -> Any:
        """The whole reply to one call. Raises the engine's own error, or GenerationError."""
        async with self._answering(path, deadline):
            response = await self._post(session, path, body, deadline)
            return decode(await response.read())

    async def _post(
        self, session: aiohttp.ClientSession | None, path: str, body: object, deadline: Deadline
    ) -> aiohttp.ClientResponse:
        """A reply whose body is still to be read. Raises the engine's own error."""
        if session is None:
            raise self._gone("does not run")
        headers = {} if deadline.timeout is None else {DEADLINE_HEADER: repr(deadline.timeout)}
        response = await session.post(path, data=encode(body), headers=headers)
        if response.status != 200:
            raise _refusal(response.status, await response.read())
        return response

    @asynccontextmanager
    async def _answering(self, path: str, deadline: Deadline) -> AsyncGenerator[None]:
        """What goes wrong on the wire, and a deadline that passes, as GenerationError."""
        try:
            async with asyncio.timeout(deadline.timeout):
                yield
        except TimeoutError:
            raise GenerationError(FailureKind.TIMEOUT, f"{path} was not answered before the deadline") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._gone(f"does not answer ({type(error).__name__}: {error})") from error

    def _gone(self, why: str) -> GenerationError:
        pid = "" if self._process is None else f" {self._process.pid}"
        return GenerationError(FailureKind.ENGINE_ERROR, f"the process{pid} of {self._info.model!r} {why}")


def _session(path: str, limit: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        "http://engine",
        connector=aiohttp.UnixConnector(path, limit=limit),
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=_LINE_BYTES,
    )


def _refusal(status: int, body: bytes) -> AssayError:
    try:
        return load_error(decode(body))
    except (ValueError, KeyError, TypeError):
        return GenerationError(FailureKind.ENGINE_ERROR, f"HTTP {status} from the engine's process: {body[:200]!r}")
