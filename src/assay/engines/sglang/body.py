"""A request as SGLang's JSON. Pure; only parameters that it knows are sent, for an unknown one is answered with a 500.

Every sampling value is said, because those left out come from the model's own generation_config.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.errors import GenerationError
from assay.core.seeds import SEED_BITS
from assay.core.types import (
    DEFAULT_SAMPLING,
    ChatPrompt,
    FailureKind,
    Message,
    Request,
    SamplingParams,
    TokenPrompt,
)
from assay.engines.base import Capability
from assay.engines.grammars import refuse_grammar

from .config import SGLangConfig
from .failures import overflow
from .model import ModelFiles

MOST_TOP_LOGPROBS = 100
GRAMMARS: frozenset[Capability] = frozenset({"regex", "json_schema"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Where to send a request, and what, but for its id. ``n`` completions come back."""

    path: str
    body: Mapping[str, Any]
    n: int
    seed: int | None = None

    @property
    def chat(self) -> bool:
        return self.path != "/generate"


def settled(request: Request, config: SGLangConfig) -> SamplingParams:
    """The request's sampling over the configuration's grammar and the defaults."""
    own = SamplingParams(regex=config.regex, json_schema=config.json_schema)
    return request.sampling.over(own).over(DEFAULT_SAMPLING)


def make_calls(request: Request, sampling: SamplingParams, config: SGLangConfig, facts: Facts) -> list[Call]:
    """The calls that answer a request: one, but for several samples of which each has its own seed.

    Args:
        sampling: that of ``settled``.

    Raises:
        GenerationError: bad_request, or context_overflow for a token prompt that leaves no room.
    """
    _check(request, sampling)
    if isinstance(request.prompt, ChatPrompt):
        path, body = "/v1/chat/completions", _chat(request.prompt, sampling, config, facts)
    elif isinstance(request.prompt, TokenPrompt):
        path, body = "/generate", _native(request.prompt, sampling, facts)
    else:
        raise _bad(f"SGLang answers no rules (got {request.prompt.rule!r}); use the rule engine")
    # Without deterministic inference SGLang ignores seeds; with it, all samples of one call would be the same.
    seed = sampling.seed if config.deterministic else None
    if seed is None or request.n == 1:
        return [Call(path=path, body=_with(body, path, request.n, seed), n=request.n, seed=seed)]
    seeds = [(seed + index) % 2**SEED_BITS for index in range(request.n)]
    return [Call(path=path, body=_with(body, path, 1, own), n=1, seed=own) for own in seeds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the running model."""

    files: ModelFiles
    context_len: int | None
    images: bool


def check_prompt(prompt: ChatPrompt | TokenPrompt, facts: Facts) -> None:
    """Raises GenerationError (bad_request) for a prompt that would end the server, or that the model cannot see."""
    if isinstance(prompt, TokenPrompt):
        facts.files.check_ids(prompt.token_ids)
        return
    for message in prompt.messages:
        facts.files.check_text(message.text)
        if not isinstance(message.content, str) and not facts.images:
            other = next((part for part in message.content if part.get("type") != "text"), None)
            if other is not None:
                raise _bad(f"this model takes no content part of type {other.get('type')!r}; send text")


def messages_json(prompt: ChatPrompt) -> list[dict[str, Any]]:
    """The messages in OpenAI's form."""
    return [{"role": message.role, "content": _content(message)} for message in prompt.messages]


def fitted(body: Mapping[str, Any], room: int) -> dict[str, Any]:
    """A chat body that asks for no more than ``room`` tokens."""
    return {**body, "max_completion_tokens": room}


def _chat(prompt: ChatPrompt, sampling: SamplingParams, config: SGLangConfig, facts: Facts) -> dict[str, Any]:
    check_prompt(prompt, facts)
    _refuse_constrained_thinking(sampling, config)
    body: dict[str, Any] = {
        "messages": messages_json(prompt),
        "max_completion_tokens": sampling.max_new_tokens,
        **_common(sampling),
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.chat_template_kwargs:
        body["chat_template_kwargs"] = dict(sampling.chat_template_kwargs)
    if sampling.regex is not None:
        body["regex"] = sampling.regex
    if sampling.json_schema is not None:
        wanted = {"name": "reply", "schema": dict(sampling.json_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    if sampling.logprobs is not None:
        # Only the meta information has the ids of the alternatives.
        body |= {"logprobs": True, "top_logprobs": sampling.logprobs}
        body |= {"return_token_ids": True, "return_meta_info": True}
    return body


def _native(prompt: TokenPrompt, sampling: SamplingParams, facts: Facts) -> dict[str, Any]:
    check_prompt(prompt, facts)
    most = sampling.max_new_tokens or 1
    if facts.context_len is not None:
        room = facts.context_len - len(prompt.token_ids)
        if room < 1:
            raise overflow(len(prompt.token_ids), facts.context_len)
        most = min(most, room)
    params = _common(sampling) | {"max_new_tokens": most}
    if sampling.stop:
        params["stop"] = list(sampling.stop)
    if sampling.regex is not None:
        params["regex"] = sampling.regex
    if sampling.json_schema is not None:
        params["json_schema"] = json.dumps(dict(sampling.json_schema))
    body: dict[str, Any] = {"input_ids": list(prompt.token_ids), "sampling_params": params}
    if sampling.logprobs is not None:
        body |= {"return_logprob": True, "top_logprobs_num": sampling.logprobs, "return_text_in_logprobs": True}
    return body


def _common(sampling: SamplingParams) -> dict[str, Any]:
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k or -1,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
    }


def _with(body: Mapping[str, Any], path: str, n: int, seed: int | None) -> dict[str, Any]:
    if path != "/generate":
        return {**body, "n": n, **({} if seed is None else {"seed": seed})}
    params = {**body["sampling_params"], "n": n, **({} if seed is None else {"sampling_seed": seed})}
    return {**body, "sampling_params": params}


def _check(request: Request, sampling: SamplingParams) -> None:
    refuse_grammar(sampling, GRAMMARS, "sglang")
    if request.n < 1:
        raise _bad(f"n must be 1 or more (got {request.n!r})")
    if (sampling.max_new_tokens or 0) < 1:
        raise _bad(f"max_new_tokens must be 1 or more (got {sampling.max_new_tokens!r})")
    if not 0 <= (sampling.logprobs or 0) <= MOST_TOP_LOGPROBS:
        raise _bad(f"logprobs must be 0..{MOST_TOP_LOGPROBS} (got {sampling.logprobs!r})")


def _refuse_constrained_thinking(sampling: SamplingParams, config: SGLangConfig) -> None:
    if config.reasoning_parser is None or (sampling.regex is None and sampling.json_schema is None):
        return
    said = sampling.chat_template_kwargs or {}
    if said.get("enable_thinking") is not False and said.get("thinking") is not False:
        what = "regex" if sampling.regex is not None else "json_schema"
        raise _bad(
            f"SGLang does not apply {what} while the model thinks: send chat_template_kwargs enable_thinking=false "
            f"(or thinking=false, as the model's template names it), or leave {what} out"
        )


def _content(message: Message) -> str | list[dict[str, Any]]:
    return message.content if isinstance(message.content, str) else [dict(part) for part in message.content]


def _bad(detail: str) -> GenerationError:
    return GenerationError(FailureKind.BAD_REQUEST, detail)
