"""Engines that do what a test says, and an app over them without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError
from assay.core.types import Completion, FailureKind, FinishReason, Request
from assay.engines.base import Capability, Delta, EngineHealth, EngineInfo, Tag
from assay.judges import build_judge
from assay.scoring.recorder import Recorder
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.gateway import Gateway
from assay.service.hub import Hub
from assay.service.settings import ServiceSettings

USER = [{"role": "user", "content": "Is 4 the sum of 2 and 2?"}]
HEALTHY = EngineHealth(healthy=True, state="ready", detail={"kv_blocks": 3})
ITEM = {"prompt": "2+2?", "candidates": ["Answer: 4"], "reference": "4"}


@dataclass
class Puppet:
    """Answers ``text``; or raises ``error``; or, while ``gate`` is shut, waits for it."""

    text: str = "1"
    finish_reason: FinishReason = "stop"
    error: Exception | None = None
    start_error: AssayError | None = None
    gate: asyncio.Event | None = None
    start_gate: asyncio.Event | None = None
    capabilities: frozenset[Capability] = frozenset({"chat"})
    told: EngineHealth = HEALTHY
    health_gate: asyncio.Event | None = None
    requests: list[Request] = field(default_factory=list[Request])
    deadlines: list[float] = field(default_factory=list[float])
    cancelled: int = 0
    closed: int = 0

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            model="puppet", weight_version="w1", capabilities=self.capabilities, context_len=128, num_gpus=2
        )

    async def start(self) -> None:
        if self.start_gate is not None:
            await self.start_gate.wait()
        if self.start_error is not None:
            raise self.start_error

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        self.requests.append(request)
        self.deadlines.append(deadline.left)
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.error is not None:
            raise self.error
        return tuple(
            Completion(
                request_id=request.id,
                index=index,
                text=self.text,
                finish_reason=self.finish_reason,
                prompt_tokens=10,
                cached_tokens=4,
                completion_tokens=2,
                model="puppet",
                weight_version="w1",
            )
            for index in range(request.n)
        )

    async def health(self) -> EngineHealth:
        if self.health_gate is not None:
            await self.health_gate.wait()
        return self.told

    async def close(self) -> None:
        self.closed += 1


@dataclass
class StreamingPuppet(Puppet):
    """Streams the words of ``text``, then raises ``stream_error`` if there is one."""

    stream_error: GenerationError | None = None
    unfinished: bool = False

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        self.requests.append(request)
        words = self.text.split(" ")
        for place, word in enumerate(words):
            for index in range(request.n):
                last = place + 1 == len(words) and self.stream_error is None and not self.unfinished
                yield Delta(
                    index=index, text=word, token_ids=(place,), finish_reason=self.finish_reason if last else None
                )
            if self.gate is not None:
                try:
                    await self.gate.wait()
                except asyncio.CancelledError:
                    self.cancelled += 1
                    raise
        if self.stream_error is not None:
            raise self.stream_error


@dataclass
class SleepyPuppet(Puppet):
    """Gives 1,000 bytes a tag back, and takes them again."""

    slept: list[frozenset[Tag]] = field(default_factory=list[frozenset[Tag]])
    wake_error: GenerationError | None = None

    async def sleep(self, tags: frozenset[Tag]) -> int:
        self.slept.append(tags)
        return 1000 * len(tags)

    async def wake(self, tags: frozenset[Tag]) -> int:
        if self.wake_error is not None:
            raise self.wake_error
        return 1000 * len(tags)


def overflow() -> GenerationError:
    return GenerationError(FailureKind.CONTEXT_OVERFLOW, "the prompt has 200 tokens; the context is 128")


def make_app(
    engine: Puppet | dict[str, Puppet],
    *,
    recorder: Recorder | None = None,
    rules: Puppet | None = None,
    deduplicate: bool = True,
    **settings: Any,
) -> FastAPI:
    engines = engine if isinstance(engine, dict) else {"__default__": engine}
    instances = {key: Scorer(e, instance=key, recorder=recorder, deduplicate=deduplicate) for key, e in engines.items()}
    hub = Hub(
        instances=instances,
        rules=None if rules is None else Scorer(rules, instance="rules", recorder=recorder),
        judges={name: build_judge(name) for name in ("verifier", "pointwise", "math")},
    )
    return create_app(hub, ServiceSettings(**settings))


@asynccontextmanager
async def client_of(app: FastAPI, *, ready: bool = True, prefix: str = "/genrm") -> AsyncGenerator[httpx.AsyncClient]:
    """The app started, behind its ASGI transport."""
    gateway: Gateway = app.state.gateway
    async with app.router.lifespan_context(app):
        if ready:
            await gateway.ready()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://service{prefix}") as client:
            yield client


def call(
    app: FastAPI, method: str, path: str, *, ready: bool = True, prefix: str = "/genrm", **request: Any
) -> httpx.Response:
    """One request to a fresh start of the app."""

    async def once() -> httpx.Response:
        async with client_of(app, ready=ready, prefix=prefix) as client:
            return await client.request(method, path, **request)

    return asyncio.run(once())


def post(app: FastAPI, path: str, body: object, **request: Any) -> httpx.Response:
    return call(app, "POST", path, json=body, **request)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that will be so in a moment."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  the condition is about objects that have no events
            await asyncio.sleep(0.005)
