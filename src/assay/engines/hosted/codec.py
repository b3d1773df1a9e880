"""The engine's vocabulary as JSON and back, for the wire between a hosted engine and its parent.

Lossless: every field travels, infinities included (both ends are ours, so JSON's missing numbers are no obstacle).
Owns the form of the records; does not own the routes (``host``, ``engine``).
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from assay.core.errors import AssayError, GenerationError, InputError, StartError
from assay.core.types import (
    ChatPrompt,
    Completion,
    FailureKind,
    Message,
    Prompt,
    Request,
    RulePrompt,
    SamplingParams,
    TokenLogprob,
    TokenPrompt,
)
from assay.engines.base import Delta, EngineHealth, EngineInfo
from assay.engines.feed import Unsynced

Object = dict[str, Any]

DEADLINE_HEADER = "X-Assay-Deadline-S"
"""Seconds that are left, as the service takes them too."""


def encode(value: object) -> bytes:
    """JSON on one line."""
    return json.dumps(value, separators=(",", ":")).encode()


def decode(data: bytes | str) -> Any:
    """The value of ``encode``. Raises ValueError."""
    return json.loads(data)


def dump_request(request: Request) -> Object:
    """A request; ``load_request`` gives an equal one."""
    return {
        "id": request.id,
        "prompt": _dump_prompt(request.prompt),
        "sampling": {key: value for key, value in _plain(request.sampling).items() if value is not None},
        "n": request.n,
        "choices": request.choices,
    }


def load_request(data: Object) -> Request:
    """A request as ``dump_request`` wrote it."""
    sampling: Object = {**data["sampling"]}
    if "stop" in sampling:
        sampling["stop"] = tuple(sampling["stop"])
    return Request(
        id=data["id"],
        prompt=_load_prompt(data["prompt"]),
        sampling=SamplingParams(**sampling),
        n=data["n"],
        choices=_tuple(data["choices"]),
    )


def _dump_prompt(prompt: Prompt) -> Object:
    match prompt:
        case ChatPrompt(messages=messages):
            return {"chat": [{"role": m.role, "content": _dump_content(m)} for m in messages]}
        case TokenPrompt(token_ids=ids):
            return {"tokens": ids}
        case RulePrompt(rule=rule, arguments=arguments):
            return {"rule": rule, "arguments": dict(arguments)}


def _dump_content(message: Message) -> Any:
    if isinstance(message.content, str):
        return message.content
    return [dict(part) for part in message.content]


def _load_prompt(data: Object) -> Prompt:
    if "chat" in data:
        return ChatPrompt(messages=tuple(_load_message(one) for one in data["chat"]))
    if "tokens" in data:
        return TokenPrompt(token_ids=tuple(data["tokens"]))
    return RulePrompt(rule=data["rule"], arguments=data["arguments"])


def _load_message(data: Object) -> Message:
    content = data["content"]
    return Message(role=data["role"], content=content if isinstance(content, str) else tuple(content))


def dump_completion(completion: Completion) -> Object:
    """A completion; ``load_completion`` gives an equal one."""
    tops = completion.top_logprobs
    packed = None if tops is None else [[(t.token_id, t.text, t.logprob) for t in place] for place in tops]
    return {**_plain(completion), "top_logprobs": packed}


def load_completion(data: Object) -> Completion:
    """A completion as ``dump_completion`` wrote it."""
    tops = data["top_logprobs"]
    changed: Object = {
        "token_ids": tuple(data["token_ids"]),
        "logprobs": _tuple(data["logprobs"]),
        "choice_logprobs": _tuple(data["choice_logprobs"]),
        "top_logprobs": None if tops is None else tuple(tuple(map(_load_token, place)) for place in tops),
    }
    return Completion(**(data | changed))


def _load_token(data: tuple[int, str, float]) -> TokenLogprob:
    token_id, text, logprob = data
    return TokenLogprob(token_id=token_id, text=text, logprob=logprob)


def dump_delta(delta: Delta) -> Object:
    """A delta; ``load_delta`` gives an equal one."""
    return _plain(delta)


def load_delta(data: Object) -> Delta:
    """A delta as ``dump_delta`` wrote it."""
    changed: Object = {"token_ids": tuple(data["token_ids"]), "logprobs": _tuple(data["logprobs"])}
    return Delta(**(data | changed))


def dump_info(info: EngineInfo) -> Object:
    """What an engine says of itself."""
    return {**_plain(info), "capabilities": sorted(info.capabilities)}


def load_info(data: Object) -> EngineInfo:
    """As ``dump_info`` wrote it."""
    changed: Object = {"capabilities": frozenset(data["capabilities"])}
    return EngineInfo(**(data | changed))


def dump_health(health: EngineHealth) -> Object:
    """How an engine is."""
    return {**_plain(health), "detail": dict(health.detail)}


def load_health(data: Object) -> EngineHealth:
    """As ``dump_health`` wrote it."""
    return EngineHealth(**data)


def dump_error(error: AssayError) -> Object:
    """An error with its type."""
    if isinstance(error, Unsynced):
        return {"error": "unsynced", "detail": error.detail}
    if isinstance(error, GenerationError):
        return {"error": str(error.kind), "detail": error.detail, "retry_after": error.retry_after}
    kind = "input" if isinstance(error, InputError) else "start" if isinstance(error, StartError) else "other"
    return {"error": kind, "detail": str(error)}


def load_error(data: Object) -> AssayError:
    """The error that ``dump_error`` wrote."""
    match data["error"]:
        case "input":
            return InputError(data["detail"])
        case "start":
            return StartError(data["detail"])
        case "other":
            return AssayError(data["detail"])
        case "unsynced":
            return Unsynced(data["detail"])
        case kind:
            return GenerationError(FailureKind(kind), data["detail"], retry_after=data["retry_after"])


def _plain(record: Any) -> Object:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
