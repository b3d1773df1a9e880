"""The http_reward engine: one request a prompt to a server that batches. Owns one ``Endpoint``; knows no judge."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.seeds import digest
from assay.core.types import ChatPrompt, FailureKind, Message, TokenPrompt
from assay.engines.base import EngineHealth, EngineInfo, Reward

from ..openai.endpoint import Endpoint
from ..sglang.body import messages_json
from .config import HttpRewardConfig
from .rendering import Rendering
from .reply import NotOneLogit, read_sglang, read_vllm, squeezed

HEALTH_S = 2.0
"""Most seconds that a look at the server's health takes."""
PROBE_PAUSE_S = 0.5
PROBE_S = 60.0
"""Most seconds for each prompt that is scored at the start; a first one may compile kernels."""
_HINTS = {
    401: "the server wants another API key; set api_key_env",
    403: "the API key may not use this model",
    404: "the server has no POST /classify: is base_url right, and does it serve a reward model?",
}
_PROBES = (
    ChatPrompt(messages=(Message(role="user", content="2 + 2?"), Message(role="assistant", content="4"))),
    ChatPrompt(messages=(Message(role="user", content="Hello"), Message(role="assistant", content="No. Go away!"))),
)


class HttpRewardEngine:
    """RewardEngine. Belongs to the event loop in which it was started."""

    def __init__(self, config: HttpRewardConfig) -> None:
        self._config = config
        self._endpoint: Endpoint | None = None
        self._rendering: Rendering | None = None
        self._model = config.model or ""
        self._version = config.weight_version or ""
        self._context_len = config.context_len

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            model=self._model,
            weight_version=self._version,
            capabilities=frozenset({"chat", "tokens"}),
            context_len=self._context_len,
        )

    async def start(self) -> None:
        """Connect, settle which model is meant, and score two prompts to see that it has one logit.

        Raises:
            StartError: the server does not answer within ``wait_s``, or cannot score.
            InputError: another model or another API key than the server's; no reward model; a logit squeezed into 0..1.
        """
        async with AsyncExitStack() as undo:
            endpoint = Endpoint(self._config.connection(), hints=_HINTS)
            undo.push_async_callback(endpoint.close)
            self._settle_model(await self._models(endpoint))
            if self._config.kind == "sglang":
                await self._meet_sglang(endpoint)
            await self._probe(endpoint)
            undo.pop_all()
        self._endpoint = endpoint

    async def reward(self, prompt: ChatPrompt | TokenPrompt, deadline: Deadline) -> Reward:
        """See ``RewardEngine.reward``. All attempts lie within the one deadline."""
        if self._endpoint is None:
            raise GenerationError(FailureKind.ENGINE_ERROR, "the http_reward engine is not running; start it first")
        return await self._ask(self._endpoint, prompt, deadline)

    async def health(self) -> EngineHealth:
        """Asks the server for its models, within two seconds."""
        endpoint = self._endpoint
        if endpoint is None:
            return EngineHealth(healthy=False, state="stopped", error="the engine is not running")
        try:
            data = await endpoint.get("/v1/models", HEALTH_S)
        except GenerationError as error:
            return EngineHealth(healthy=False, state="unreachable", error=error.detail, detail=endpoint.figures())
        names = [str(entry.get("id")) for entry in _entries(data)]
        if names and self._model not in names:
            gone = f"the server no longer serves {self._model!r}; it serves {names}"
            return EngineHealth(healthy=False, state="no model", error=gone, detail=endpoint.figures())
        return EngineHealth(healthy=True, state="awake" if names else "unverified", detail=endpoint.figures())

    async def close(self) -> None:
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    async def _ask(
        self, endpoint: Endpoint, prompt: ChatPrompt | TokenPrompt, deadline: Deadline, *, activation: bool = False
    ) -> Reward:
        body = self._body(prompt, activation)
        data = await endpoint.post("/classify", body, key=digest(body), tokens=0, deadline=deadline)
        return read_sglang(data) if self._config.kind == "sglang" else read_vllm(data)

    def _body(self, prompt: ChatPrompt | TokenPrompt, activation: bool) -> dict[str, Any]:
        if self._rendering is not None:
            return {"model": self._model, "input_ids": list(self._rendering.ids(prompt, self._context_len))}
        body: dict[str, Any] = {"model": self._model, "use_activation": activation}
        if isinstance(prompt, TokenPrompt):
            return body | {"input": [list(prompt.token_ids)]}
        body |= {"messages": messages_json(prompt), "add_generation_prompt": False}
        if self._config.chat_template_kwargs:
            body["chat_template_kwargs"] = self._config.chat_template_kwargs
        return body

    async def _models(self, endpoint: Endpoint) -> list[dict[str, Any]]:
        patience = Deadline.after(self._config.wait_s)
        while True:
            try:
                return _entries(await endpoint.get("/v1/models", self._config.connect_timeout_s))
            except GenerationError as error:
                if error.kind is FailureKind.BAD_REQUEST:
                    raise InputError(error.detail) from error
                if patience.expired:
                    hint = "is the server up? (wait_s makes the start wait for it)"
                    raise StartError(f"{error.detail}: {hint}") from error
            await asyncio.sleep(min(PROBE_PAUSE_S, patience.left))

    def _settle_model(self, models: list[dict[str, Any]]) -> None:
        names = [str(entry.get("id")) for entry in models]
        if not self._model:
            if len(names) != 1:
                found = f"it serves {names}" if names else "it does not list its models"
                raise InputError(f"which model of {self._config.base_url}? {found}; set model")
            self._model = names[0]
        if names and self._model not in names:
            raise InputError(f"model {self._model!r} is not served at {self._config.base_url}; it serves {names}")
        entry = next((entry for entry in models if entry.get("id") == self._model), {})
        if self._context_len is None and isinstance(entry.get("max_model_len"), int):
            self._context_len = entry["max_model_len"]

    async def _meet_sglang(self, endpoint: Endpoint) -> None:
        """What only SGLang says: whether it generates, its weight version, its tokenizer."""
        try:
            said = await endpoint.get("/model_info", self._config.connect_timeout_s)
        except GenerationError as error:
            raise StartError(error.detail) from error
        facts: dict[str, Any] = said if isinstance(said, dict) else {}
        if facts.get("is_generation") is True:
            raise InputError(
                f"{self._config.base_url} serves {self._model!r} to generate; start SGLang with --is-embedding and a "
                "model for sequence classification"
            )
        if self._config.weight_version is None:
            self._version = str(facts.get("weight_version") or "")
        name = self._config.tokenizer or facts.get("tokenizer_path") or facts.get("model_path")
        if not isinstance(name, str):
            raise InputError(f"{self._config.base_url} does not say which tokenizer it uses; set tokenizer")
        self._rendering = await asyncio.to_thread(Rendering, name, self._config.chat_template_kwargs)

    async def _probe(self, endpoint: Endpoint) -> None:
        """Raises InputError or StartError unless the server answers with one logit."""
        try:
            off = [(await self._ask(endpoint, prompt, Deadline.after(PROBE_S))).logit for prompt in _PROBES]
            if self._config.kind == "sglang" or not self._config.check_activation:
                return
            on = [
                (await self._ask(endpoint, prompt, Deadline.after(PROBE_S), activation=True)).logit
                for prompt in _PROBES
            ]
        except NotOneLogit as error:
            raise InputError(f"{self._config.base_url}: {error.detail}") from error
        except GenerationError as error:
            raise StartError(f"{self._config.base_url} cannot score a prompt: {error.detail}") from error
        if all(map(squeezed, off, on)):
            raise InputError(
                f"{self._config.base_url} answers {off[0]:.6g} and {off[1]:.6g}, with and without use_activation: it "
                "squeezes the logits into 0..1, and of large ones nothing is left to compare. Use vLLM 0.13 or newer; "
                "if the model's logits really lie there, set check_activation=false"
            )


def _entries(data: Any) -> list[dict[str, Any]]:
    listed: Any = data.get("data") if isinstance(data, dict) else None
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
