"""The openai engine: requests to an OpenAI-compatible server. Owns one ``Endpoint``; knows no judge.

``choices`` are read off the alternatives for the first token of the reply, so each choice has to be one token of the
model. Thinking that the server hands out apart is put back into the text. Both are in ``reply``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.seeds import SEED_BITS
from assay.core.types import DEFAULT_SAMPLING, Completion, FailureKind, Request
from assay.engines.base import Capability, Delta, EngineHealth, EngineInfo
from assay.engines.grammars import check_json

from .body import estimate_tokens, grammars, make_call
from .config import OpenAIConfig
from .endpoint import Endpoint
from .reply import read_chosen, read_completions
from .sse import ChunkReader, EventReader

HEALTH_S = 2.0
"""Most seconds that a look at the server's health takes."""
PROBE_PAUSE_S = 0.5


class OpenAIEngine:
    """A chat completions server. Belongs to the event loop in which it was started."""

    def __init__(self, config: OpenAIConfig) -> None:
        self._config = config
        self._endpoint: Endpoint | None = None
        self._model = config.model or ""
        self._context_len = config.context_len

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            model=self._model,
            weight_version=self._config.weight_version,
            capabilities=_capabilities(self._config),
            context_len=self._context_len,
            batch_invariant=self._config.batch_invariant,
            parameters=self._config.parameters,
        )

    async def start(self) -> None:
        """Connect, and settle which model is meant.

        Raises:
            StartError: the server does not answer within ``wait_s``.
            InputError: it does not serve the model, or the API key is not set or not the right one.
        """
        async with AsyncExitStack() as undo:
            endpoint = Endpoint(self._config)
            undo.push_async_callback(endpoint.close)
            self._settle_model(await self._probe(endpoint))
            undo.pop_all()
        self._endpoint = endpoint

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """``n`` completions; with ``choices`` one. All attempts lie within the one deadline. Raises GenerationError."""
        if request.n > 1 and request.choices is None and not self._config.supports_n:
            return await self._one_by_one(request, deadline)
        sampling = request.sampling.over(DEFAULT_SAMPLING)
        call = make_call(request, sampling, self._model, self._config)
        tokens = estimate_tokens(call, request, sampling)
        data = await self._running().post(call.path, call.body, key=request.id, tokens=tokens, deadline=deadline)
        seed = sampling.seed if self._config.supports_seed else None
        if request.choices is not None:
            completion = read_chosen(data, request, request.choices)
            return (replace(completion, seed=seed, weight_version=self._config.weight_version),)
        completions = read_completions(data, request, chat=call.chat)
        for completion in completions:
            check_json(completion, sampling)
        version = self._config.weight_version
        return tuple(replace(each, seed=seed, weight_version=version or each.weight_version) for each in completions)

    async def stream(self, request: Request, deadline: Deadline) -> AsyncIterator[Delta]:
        """The texts while they grow. A stream that has begun is not tried again. Raises GenerationError."""
        if request.choices is not None:
            raise GenerationError(FailureKind.BAD_REQUEST, "choices are read in one step; there is nothing to stream")
        sampling = request.sampling.over(DEFAULT_SAMPLING)
        call = make_call(request, sampling, self._model, self._config)
        tokens = estimate_tokens(call, request, sampling)
        endpoint, events, chunks = self._running(), EventReader(), ChunkReader(request.n)
        body = {**call.body, "stream": True}
        async with endpoint.open(call.path, body, key=request.id, tokens=tokens, deadline=deadline) as response:
            while piece := await endpoint.read(response, deadline):
                for event in events.feed(piece):
                    for delta in chunks.read(event):
                        yield delta
        chunks.end()

    async def health(self) -> EngineHealth:
        """Asks the server for its models, within two seconds."""
        endpoint = self._endpoint
        if endpoint is None:
            return EngineHealth(healthy=False, state="stopped", error="the engine is not running")
        try:
            models = await endpoint.models(HEALTH_S)
        except GenerationError as error:
            return EngineHealth(healthy=False, state="unreachable", error=error.detail, detail=endpoint.figures())
        names = [str(model.get("id")) for model in models or ()]
        if self._listed_strictly(names) and self._model not in names:
            gone = f"the server no longer serves {self._model!r}; it serves {names}"
            return EngineHealth(healthy=False, state="no model", error=gone, detail=endpoint.figures())
        state = "unverified" if models is None else "awake"
        return EngineHealth(healthy=True, state=state, detail=endpoint.figures())

    async def close(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    def _running(self) -> Endpoint:
        if self._endpoint is None:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the openai engine is not running; await start() first")
        return self._endpoint

    async def _one_by_one(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        """``n`` requests of one sample, for a server that ignores n; the first failure ends the others."""
        first = request.sampling.seed
        parts = [
            replace(
                request,
                id=f"{request.id}.{index}",
                n=1,
                sampling=replace(request.sampling, seed=None if first is None else (first + index) % 2**SEED_BITS),
            )
            for index in range(request.n)
        ]
        tasks = [asyncio.create_task(self.generate(part, deadline)) for part in parts]
        try:
            samples = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return tuple(replace(sample[0], request_id=request.id, index=index) for index, sample in enumerate(samples))

    async def _probe(self, endpoint: Endpoint) -> list[dict[str, Any]] | None:
        patience = Deadline.after(self._config.wait_s)
        while True:
            try:
                return await endpoint.models(self._config.connect_timeout_s)
            except GenerationError as error:
                if error.kind is FailureKind.BAD_REQUEST:
                    raise InputError(error.detail) from error
                if patience.expired:
                    hint = "is the server up? (wait_s makes the start wait for it)"
                    raise StartError(f"{error.detail}: {hint}") from error
            await asyncio.sleep(min(PROBE_PAUSE_S, patience.left))

    def _settle_model(self, models: list[dict[str, Any]] | None) -> None:
        """Which model, and its context length, from what the server lists."""
        names = [str(model.get("id")) for model in models or ()]
        if not self._model:
            if len(names) != 1:
                found = f"it serves {names}" if names else "it does not list its models"
                raise InputError(f"which model of {self._config.base_url}? {found}; set model")
            self._model = names[0]
        if self._listed_strictly(names) and self._model not in names:
            raise InputError(f"model {self._model!r} is not served at {self._config.base_url}; it serves {names}")
        entry = next((model for model in models or () if model.get("id") == self._model), {})
        if self._context_len is None and isinstance(entry.get("max_model_len"), int):
            self._context_len = entry["max_model_len"]

    def _listed_strictly(self, names: list[str]) -> bool:
        """Whether a model that is not listed is not there. Public gateways list some names and take others."""
        return bool(names) and self._config.dialect == "extended"


def _capabilities(config: OpenAIConfig) -> frozenset[Capability]:
    found: set[Capability] = {"chat", *grammars(config)}
    if config.dialect == "extended":
        found.add("tokens")
    if config.supports_logprobs:
        found |= {"logprobs", "choices"}
    if config.supports_images:
        found.add("images")
    if config.extra_body.get("return_token_ids"):
        found.add("token_ids")
    return frozenset(found)
