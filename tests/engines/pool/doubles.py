"""Engines that do what a test says, and pools of them with short times."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import ChatPrompt, Completion, FailureKind, Message, Request, SamplingParams
from assay.engines.base import Delta, EngineHealth, EngineInfo, Tag
from assay.engines.pool.config import PoolConfig
from assay.engines.pool.engine import PoolEngine

GIB = 1 << 30


def lost() -> GenerationError:
    return GenerationError(FailureKind.ENGINE_ERROR, "the connection was closed")


@dataclass(eq=False)
class Puppet:
    """Answers "``index``: request id"; or raises ``error``; or waits for ``gate``. It always answers the canary."""

    index: int
    error: GenerationError | None = None
    gate: asyncio.Event | None = None
    start_error: AssayError | None = None
    well: bool = True
    mute: bool = False
    """It says nothing when asked how it is."""
    logprob: float = -0.1
    version: str = "v1"
    calls: list[str] = field(default_factory=list[str])
    asked: list[Request] = field(default_factory=list[Request])
    aborted: int = 0
    running: int = 0
    closed: bool = False

    @property
    def info(self) -> EngineInfo:
        capabilities = frozenset({"chat", "logprobs", "tokens"})
        return EngineInfo(
            model="puppet", weight_version=self.version, capabilities=capabilities, context_len=100, num_gpus=2
        )

    async def start(self) -> None:
        self.calls.append("start")
        if self.start_error is not None:
            raise self.start_error

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        if request.id.startswith("canary"):
            self.calls.append("canary")
            return (self._said(request, 0, "fine"),)
        self.asked.append(request)
        self.running += 1
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.error is not None:
                raise self.error
            return tuple(self._said(request, index, f"{self.index}: {request.id}") for index in range(request.n))
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        finally:
            self.running -= 1

    async def health(self) -> EngineHealth:
        if self.mute:
            await asyncio.Event().wait()
        return EngineHealth(healthy=self.well, state="ready" if self.well else "failed", error=None)

    async def close(self) -> None:
        self.closed = True

    def _said(self, request: Request, index: int, text: str) -> Completion:
        return Completion(
            request_id=request.id,
            index=index,
            text=text,
            token_ids=(1,),
            logprobs=(self.logprob,),
            completion_tokens=1,
            seed=request.sampling.seed,
            weight_version=self.version,
        )


@dataclass(eq=False)
class Sleeper(Puppet):
    """Sleeps, wakes, takes weights. ``after_wake``: the log-prob that it has then."""

    after_wake: float | None = None
    sleep_error: GenerationError | None = None
    wake_error: GenerationError | None = None
    update_error: AssayError | None = None
    frees: int = GIB

    async def sleep(self, tags: frozenset[Tag]) -> int:
        assert self.running == 0, "told to sleep while a request runs"
        self.calls.append(f"sleep {','.join(sorted(tags))}")
        if self.sleep_error is not None:
            raise self.sleep_error
        return self.frees * len(tags)

    async def wake(self, tags: frozenset[Tag]) -> int:
        self.calls.append(f"wake {','.join(sorted(tags))}")
        if self.wake_error is not None:
            raise self.wake_error
        if self.after_wake is not None:
            self.logprob = self.after_wake
        return GIB * len(tags)

    async def update_weights(self, source: str, version: str) -> None:
        self.calls.append(f"weights {source}")
        if self.update_error is not None:
            raise self.update_error
        self.version = version
        self.logprob = -0.7


@dataclass(eq=False)
class Reloader(Sleeper):
    """Reads its weights again; ``after_reload`` is the log-prob then."""

    after_reload: float = -0.1

    async def reload(self) -> None:
        self.calls.append("reload")
        self.logprob = self.after_reload


@dataclass(eq=False)
class Hosted(Sleeper):
    """In a process, so to speak: it can be killed, and says so."""

    end: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    kills: int = 0

    async def lost(self) -> str:
        return await asyncio.shield(self.end)

    def kill(self) -> None:
        self.kills += 1
        self.die("was killed")

    def die(self, how: str) -> None:
        self.well = False
        self.error = lost()
        if self.gate is not None:
            self.gate.set()
        if not self.end.done():
            self.end.set_result(how)


@dataclass(eq=False)
class Weighed(Sleeper):
    """Holds so many bytes after a sleep, whatever it claims."""

    holds: int = 4 * GIB
    after_sleep: int = 0

    async def held_bytes(self) -> int | None:
        return self.after_sleep if any(call.startswith("sleep") for call in self.calls) else self.holds


@dataclass(eq=False)
class Streamer(Puppet):
    """Streams its answer in three pieces; fails after ``fails_after`` of them."""

    fails_after: int | None = None

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        self.asked.append(request)
        for number in range(3):
            if number == self.fails_after:
                raise lost()
            if self.gate is not None:
                await self.gate.wait()
            yield Delta(index=0, text=f"{self.index}.{number} ", finish_reason="stop" if number == 2 else None)


def request(name: str = "r", text: str = "2 + 2?", **fields: Any) -> Request:
    prompt = ChatPrompt(messages=(Message(role="user", content=text),))
    return Request(id=name, prompt=prompt, sampling=SamplingParams(seed=3, max_new_tokens=10), **fields)


class Crew:
    """Builds the engines of a pool and keeps all that were built, by replica."""

    def __init__(self, build: Callable[[int], Any]) -> None:
        self.built: list[list[Any]] = []
        self._build = build

    def __call__(self, index: int) -> Any:
        while len(self.built) <= index:
            self.built.append([])
        self.built[index].append(self._build(index))
        return self.built[index][-1]

    def __getitem__(self, index: int) -> Any:
        """The engine that replica ``index`` has now."""
        return self.built[index][-1]


QUICK: dict[str, Any] = {
    "health_every_s": 0.01,
    "health_timeout_s": 0.02,
    "hang_s": 0.06,
    "rebuild_pause_s": 0.01,
    "drain_s": 5.0,
}


@asynccontextmanager
async def pool_of(crew: Crew, size: int = 2, **options: Any) -> AsyncGenerator[PoolEngine]:
    pool = PoolEngine(PoolConfig(size=size, **QUICK | options), crew)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.close()


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(0.002)


def soon(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(work)


async def ask(pool: PoolEngine, name: str = "r", seconds: float = 5.0, **fields: Any) -> str:
    return (await pool.generate(request(name, **fields), Deadline.after(seconds)))[0].text
