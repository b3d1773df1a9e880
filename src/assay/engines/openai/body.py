"""A request as OpenAI's JSON. Pure; refuses what the endpoint cannot take instead of leaving it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind, Message, Request, SamplingParams, TokenPrompt
from assay.engines.base import Capability
from assay.engines.grammars import refuse_grammar

from .config import OpenAIConfig

TOP_CHOICES = 20
"""Alternatives asked for to read ``choices`` off; the most that OpenAI and vLLM give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Where to send a request, and what: the path below ``base_url`` and the JSON body."""

    path: str
    body: Mapping[str, Any]
    chat: bool


def make_call(request: Request, sampling: SamplingParams, model: str, config: OpenAIConfig) -> Call:
    """The HTTP call of a request.

    Args:
        sampling: the request's own, merged over the defaults.

    Raises:
        GenerationError: BAD_REQUEST, naming what this endpoint does not take.
    """
    body: dict[str, Any] = {"model": model, "n": request.n} | _sampling(sampling, config)
    chat = isinstance(request.prompt, ChatPrompt)
    if isinstance(request.prompt, ChatPrompt):
        body["messages"] = [_message(message, config) for message in request.prompt.messages]
    elif isinstance(request.prompt, TokenPrompt):
        if config.dialect == "openai":
            raise _refused("token ids as a prompt", 'dialect = "extended"')
        body["prompt"] = list(request.prompt.token_ids)
    else:
        raise _refused(f"rule {request.prompt.rule!r}", "the rule engine")
    if request.choices is None:
        body |= _grammar(sampling, chat, config)
    if request.choices is not None:
        body |= {"n": 1, "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens": 1}
        body |= _logprobs(TOP_CHOICES, chat, config)
    elif sampling.logprobs is not None:
        body |= _logprobs(sampling.logprobs, chat, config)
    return Call(path="/chat/completions" if chat else "/completions", body=body | config.extra_body, chat=chat)


def estimate_tokens(call: Call, request: Request, sampling: SamplingParams) -> int:
    """An upper guess at the tokens of a call: the text at four bytes a token, and every reply as long as it may be."""
    if isinstance(request.prompt, TokenPrompt):
        prompt = len(request.prompt.token_ids)
    else:
        prompt = (
            sum(len(str(message["content"]).encode("utf-8", "replace")) for message in call.body["messages"]) // 4 + 1
        )
    reply = 1 if request.choices is not None else (sampling.max_new_tokens or 0) * request.n
    return prompt + reply


def _sampling(sampling: SamplingParams, config: OpenAIConfig) -> dict[str, Any]:
    strict = config.dialect == "openai"
    said: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_completion_tokens" if strict else "max_tokens": sampling.max_new_tokens,
        "stop": list(sampling.stop) if sampling.stop else None,
        "seed": sampling.seed if config.supports_seed else None,
        "top_k": sampling.top_k if sampling.top_k and sampling.top_k > 0 else None,
        "chat_template_kwargs": dict(sampling.chat_template_kwargs) if sampling.chat_template_kwargs else None,
    }
    body = {key: value for key, value in said.items() if value is not None}
    if strict and (unknown := {"top_k", "chat_template_kwargs"} & body.keys()):
        raise _refused(f"{sorted(unknown)}", 'dialect = "extended" if the server takes them, else leave them out')
    return body


def grammars(config: OpenAIConfig) -> frozenset[Capability]:
    """What the endpoint can constrain a reply by."""
    found: dict[Capability, bool] = {
        "json_schema": config.supports_json_schema,
        "regex": config.regex_field is not None,
    }
    return frozenset(name for name, applied in found.items() if applied)


def _grammar(sampling: SamplingParams, chat: bool, config: OpenAIConfig) -> dict[str, Any]:
    refuse_grammar(sampling, grammars(config), "openai")
    if sampling.json_schema is not None:
        if not chat:
            raise _refused("json_schema behind token ids", "messages")
        wanted = {"name": "reply", "schema": dict(sampling.json_schema)}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}
    if sampling.regex is None or config.regex_field is None:
        return {}
    if config.regex_field == "structured_outputs":
        return {"structured_outputs": {"regex": sampling.regex}}
    return {config.regex_field: sampling.regex}


def _logprobs(top: int, chat: bool, config: OpenAIConfig) -> dict[str, Any]:
    if not config.supports_logprobs:
        raise _refused("log-probs", "supports_logprobs = true if the server gives them")
    return {"logprobs": True, "top_logprobs": top} if chat else {"logprobs": top}


def _message(message: Message, config: OpenAIConfig) -> dict[str, Any]:
    if isinstance(message.content, str):
        return {"role": message.role, "content": message.content}
    for part in message.content:
        if part.get("type") != "text" and not config.supports_images:
            raise _refused(f"a content part of type {part.get('type')!r}", "supports_images = true if the model sees")
    return {"role": message.role, "content": [dict(part) for part in message.content]}


def _refused(what: str, instead: str) -> GenerationError:
    return GenerationError(FailureKind.BAD_REQUEST, f"the openai engine does not send {what} here; use {instead}")
