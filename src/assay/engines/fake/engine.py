"""The fake engine. Deterministic: reply and fault follow from the request, never from its turn or what else runs.

Without faults and latency ``generate`` awaits nothing, so that what is measured with it is everything else.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import DEFAULT_SAMPLING, Completion, FailureKind, FinishReason, Request, SamplingParams
from assay.engines.base import Capability, Delta, EngineHealth, EngineInfo, Tag
from assay.engines.grammars import refuse_grammar

from .config import FakeConfig, FaultName
from .draws import (
    NOTHING,
    choice_logprobs,
    draw_fault,
    draw_garbage,
    draw_latency,
    draw_reply,
    prompt_words,
    request_key,
    token_id,
    word_logprobs,
)

CAPABILITIES: frozenset[Capability] = frozenset(
    {"chat", "tokens", "rules", "choices", "logprobs", "token_ids", "images"}
)
GRAMMARS: frozenset[Capability] = frozenset({"regex", "json_schema"})
MEMORY: Mapping[Tag, int] = {"weights": 1 << 30, "kv_cache": 1 << 29}
"""Bytes that it claims to give back when it sleeps."""

_PIECE = re.compile(r"\s*\S+|\s+")


class FakeEngine:
    """Engine, StreamingEngine, Offloadable and Updatable, without a model. Needs no start.

    ``reply(request, index)``, where given, makes the texts instead of the configuration; it has to be deterministic.
    """

    def __init__(self, config: FakeConfig | None = None, reply: Callable[[Request, int], str] | None = None) -> None:
        self._config = config or FakeConfig()
        self._reply = reply
        self._capabilities = CAPABILITIES | GRAMMARS if self._config.grammars else CAPABILITIES
        self._asleep: frozenset[Tag] = frozenset()
        self._version = "0"
        self._closed = False
        self._waiting: set[asyncio.Future[None]] = set()
        self._places = asyncio.Semaphore(self._config.max_running) if self._config.max_running else nullcontext()
        self.running = 0
        self.calls = 0

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            model=self._config.model,
            weight_version=self._version,
            capabilities=self._capabilities,
            context_len=self._config.context_len,
            batch_invariant=True,
        )

    async def start(self) -> None:
        self._closed = False

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """The scripted completions. Raises GenerationError for a fault, the deadline, sleep and a prompt too long."""
        self.calls += 1
        self.running += 1
        try:
            return await self._generate(request, deadline)
        finally:
            self.running -= 1

    async def stream(self, request: Request, deadline: Deadline) -> AsyncGenerator[Delta, None]:
        """The scripted completions word by word, one sample after the other."""
        for completion in await self.generate(request, deadline):
            for piece in _PIECE.findall(completion.text):
                ids = tuple(map(token_id, piece.split()))
                yield Delta(index=completion.index, text=piece, token_ids=ids)
            yield Delta(index=completion.index, text="", finish_reason=completion.finish_reason)

    async def health(self) -> EngineHealth:
        stopped = self._closed
        return EngineHealth(
            healthy=not stopped,
            state="stopped" if stopped else "asleep" if self._asleep else "awake",
            error="the fake engine was closed" if stopped else None,
            detail={"running": self.running, "calls": self.calls},
        )

    async def close(self) -> None:
        self._closed = True
        for waiting in self._waiting:
            waiting.cancel()

    async def sleep(self, tags: frozenset[Tag]) -> int:
        freed = tags - self._asleep
        self._asleep |= tags
        return sum(MEMORY[tag] for tag in freed)

    async def wake(self, tags: frozenset[Tag]) -> int:
        taken = tags & self._asleep
        self._asleep -= tags
        return sum(MEMORY[tag] for tag in taken)

    async def update_weights(self, source: str, version: str) -> None:  # noqa: ARG002 - there are none to read
        self._version = version

    async def _generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        config = self._config
        if self._asleep:
            raise GenerationError(FailureKind.ASLEEP, "the fake engine is asleep; wake it first")
        refuse_grammar(request.sampling, self._capabilities, "fake")
        length = prompt_words(request.prompt)
        if config.context_len is not None and length > config.context_len:
            detail = f"the prompt has {length} words, the context of the fake engine is {config.context_len}"
            raise GenerationError(FailureKind.CONTEXT_OVERFLOW, detail)
        draws = bool(config.faults or config.latency_spread) or (
            isinstance(config.replies, tuple) and bool(config.replies)
        )
        key = request_key(request, config.seed) if draws else ""
        fault = draw_fault(config.faults, key)
        seconds = draw_latency(config, key) + (config.slow_s if fault == "latency" else 0)
        if seconds > 0 or fault == "hang" or deadline.expired or self._closed:
            async with self._places:
                await self._pass_time(math.inf if fault == "hang" else seconds, deadline)
        if fault == "error_502":
            raise GenerationError(FailureKind.ENGINE_ERROR, "HTTP 502 from the fake engine")
        if fault == "overloaded":
            raise GenerationError(FailureKind.OVERLOADED, "the fake engine is full", retry_after=config.retry_after_s)
        sampling = request.sampling.over(DEFAULT_SAMPLING)
        base = Completion(
            request_id=request.id,
            text="",
            prompt_tokens=length,
            seed=sampling.seed,
            model=config.model,
            weight_version=self._version,
        )
        if request.choices is not None:
            return (self._chosen(base, request, request.choices, key, fault),)
        return tuple(self._sample(base, request, sampling, key, fault, index) for index in range(request.n))

    async def _pass_time(self, seconds: float, deadline: Deadline) -> None:
        """Returns after ``seconds``. Raises GenerationError when the deadline is sooner, or the engine is closed."""
        if self._closed:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the fake engine was closed")
        late = seconds >= deadline.left
        wait = min(seconds, deadline.left)
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(closed)
        try:
            await asyncio.wait((closed,), timeout=None if wait == math.inf else wait)
        finally:
            self._waiting.discard(closed)
        if closed.done():
            raise GenerationError(FailureKind.CANCELLED, "the fake engine was closed")
        if late:
            raise GenerationError(FailureKind.TIMEOUT, "the fake engine did not answer before the deadline")

    def _text(self, request: Request, key: str, index: int) -> str:
        if self._reply is not None:
            return self._reply(request, index)
        return draw_reply(self._config, request, key, index)

    def _sample(
        self,
        base: Completion,
        request: Request,
        sampling: SamplingParams,
        key: str,
        fault: FaultName | None,
        index: int,
    ) -> Completion:
        text = _faulty(self._text(request, key, index), key, fault, index)
        text, reason = _ended(text, sampling)
        if fault == "truncated":
            reason = "length"
        words = text.split()
        places = None if sampling.logprobs is None else tuple(word_logprobs(w, sampling.logprobs) for w in words)
        return replace(
            base,
            index=index,
            text=text,
            finish_reason=reason,
            token_ids=tuple(map(token_id, words)),
            completion_tokens=len(words),
            logprobs=None if places is None else tuple(place[0].logprob for place in places),
            top_logprobs=places if sampling.logprobs else None,
        )

    def _chosen(
        self, base: Completion, request: Request, choices: tuple[str, ...], key: str, fault: FaultName | None
    ) -> Completion:
        """With a fault of the text the engine wanted to say something else, so no choice is likely."""
        logprobs = choice_logprobs(self._config, choices, self._text(request, key, 0))
        if fault in ("truncated", "empty", "garbage"):
            logprobs = tuple(math.log(NOTHING / len(choices)) for _ in choices)
        best = max(range(len(choices)), key=lambda index: logprobs[index])
        return replace(
            base,
            text=choices[best],
            choice_logprobs=logprobs,
            mass=math.fsum(map(math.exp, logprobs)),
            completion_tokens=1,
        )


def _faulty(text: str, key: str, fault: FaultName | None, index: int) -> str:
    if fault == "empty":
        return ""
    if fault == "garbage":
        return draw_garbage(key, index)
    if fault == "truncated":
        pieces = _PIECE.findall(text)
        return "".join(pieces[: len(pieces) // 2])
    return text


def _ended(text: str, sampling: SamplingParams) -> tuple[str, FinishReason]:
    """The text up to the first stop text and the allowed length, and why it ends there."""
    for stop in sampling.stop or ():
        text = text.partition(stop)[0] if stop else text
    pieces = _PIECE.findall(text)
    limit = sampling.max_new_tokens or len(pieces)
    if len(pieces) > limit:
        return "".join(pieces[:limit]), "length"
    return text, "stop"
