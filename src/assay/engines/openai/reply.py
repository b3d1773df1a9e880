"""OpenAI's JSON as completions. Pure; whatever is not as it should be is an ENGINE_ERROR that says what was there.

Thinking that a server hands out apart (``reasoning_content`` or ``reasoning``) is put back in front of the text as
``<think>...</think>``, so that judges see one text whatever the server's settings. Thinking that ended because the
reply was full stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, FinishReason, Request, TokenLogprob

from .alternatives import Place, read_choice_logprobs, read_places
from .failures import broken

FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "length": "length",
    "max_tokens": "length",
    "abort": "abort",
}
"""Finish reasons of the servers in use, as ours. ``content_filter`` is a refusal; all others are errors."""


def read_choices(data: Any, expected: int) -> list[dict[str, Any]]:
    """The choices of a reply, in index order. Raises GenerationError unless there are as many as were asked for."""
    if not isinstance(data, dict):
        raise broken(f"not an object but {data!r:.80}")
    choices = data.get("choices")
    if choices is None and data.get("error"):
        raise GenerationError(
            FailureKind.ENGINE_ERROR, f"the server answered 200 with an error: {data['error']!r:.300}"
        )
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in cast("list[Any]", choices)):
        raise broken(f"'choices' is {choices!r:.80}")
    found = cast("list[dict[str, Any]]", choices)
    if len(found) != expected:
        hint = "; for a server that ignores n set supports_n = false" if len(found) == 1 else ""
        detail = f"the server returned {len(found)} choices, {expected} were asked for{hint}"
        raise GenerationError(FailureKind.ENGINE_ERROR, detail)
    return sorted(found, key=lambda choice: count(choice.get("index")))


def read_completions(data: Any, request: Request, *, chat: bool) -> tuple[Completion, ...]:
    """All completions of one reply.

    Log-probs go with token ids: where the server hands out no ids (most do not unless asked), ``logprobs`` is None and
    ``top_logprobs`` holds the tokens by their text, id -1, the sampled one alone if no alternatives were asked for.
    """
    choices = read_choices(data, request.n)
    base = _completion(data, request)
    counts = _token_counts(choices, base.completion_tokens)
    return tuple(
        replace(
            base,
            index=index,
            text=_chat_text(choice) if chat else _plain_text(choice),
            finish_reason=finish_reason(choice.get("finish_reason")),
            completion_tokens=count,
            **_tokens(choice, with_logprobs=request.sampling.logprobs is not None),
        )
        for index, (choice, count) in enumerate(zip(choices, counts, strict=True))
    )


def read_chosen(data: Any, request: Request, replies: Sequence[str]) -> Completion:
    """The one completion of a request with ``choices``: the likeliest of them, and what all are worth."""
    places = read_places(read_choices(data, 1)[0].get("logprobs"))
    logprobs, mass = read_choice_logprobs(places[0] if places else None, replies)
    best = max(range(len(replies)), key=lambda index: logprobs[index])
    return replace(_completion(data, request), text=replies[best], choice_logprobs=logprobs, mass=mass)


def _completion(data: dict[str, Any], request: Request) -> Completion:
    """What all completions of a reply have in common; ``completion_tokens`` is their sum."""
    usage = data.get("usage")
    usage = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    return Completion(
        request_id=request.id,
        text="",
        prompt_tokens=count(usage.get("prompt_tokens")),
        cached_tokens=count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
        completion_tokens=count(usage.get("completion_tokens")),
        model=str(data.get("model") or ""),
        weight_version=str(data.get("system_fingerprint") or ""),
    )


def finish_reason(said: Any) -> FinishReason:
    """The finish reason in our words. Raises GenerationError: REFUSED for a filter, else ENGINE_ERROR."""
    if said == "content_filter":
        raise GenerationError(FailureKind.REFUSED, "the server's content filter stopped the reply")
    if not isinstance(said, str) or said not in FINISH:
        raise broken(f"finish_reason is {said!r:.40}")
    return FINISH[said]


def read_ids(given: Any) -> tuple[int, ...]:
    """Token ids as vLLM and Assay add them to a choice; empty where there are none. Raises GenerationError."""
    if given is None:
        return ()
    if not isinstance(given, list) or not all(type(number) is int for number in cast("list[Any]", given)):
        raise broken(f"token_ids are {given!r:.80}")
    return tuple(cast("list[int]", given))


def _chat_text(choice: dict[str, Any]) -> str:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise broken(f"a choice without a message: {choice!r:.120}")
    content, thinking = message.get("content"), message.get("reasoning_content") or message.get("reasoning")
    if content is None and isinstance(message.get("refusal"), str):
        raise GenerationError(FailureKind.REFUSED, f"the model refused: {message['refusal']!r:.200}")
    if isinstance(thinking, str):
        closed = content or choice.get("finish_reason") != "length"
        return f"<think>{thinking}</think>{content or ''}" if closed else f"<think>{thinking}"
    if content is None and choice.get("finish_reason") == "content_filter":
        return ""
    if not isinstance(content, str):
        raise broken(f"the message's content is {content!r:.80}")
    return content


def _plain_text(choice: dict[str, Any]) -> str:
    text = choice.get("text")
    if not isinstance(text, str):
        raise broken(f"a choice without a text: {choice!r:.120}")
    return text


def _tokens(choice: dict[str, Any], *, with_logprobs: bool) -> dict[str, Any]:
    """Ids, log-probs and alternatives of one choice, as far as the server gave them."""
    if with_logprobs and choice.get("logprobs") is None:
        detail = "log-probs were asked for and the server returned none; if it has none, set supports_logprobs = false"
        raise GenerationError(FailureKind.ENGINE_ERROR, detail)
    places: tuple[Place, ...] = read_places(choice.get("logprobs"))
    ids = read_ids(choice.get("token_ids"))
    if not ids and places and all(place.sampled.token_id >= 0 for place in places):
        ids = tuple(place.sampled.token_id for place in places)
    if not with_logprobs:
        return {"token_ids": ids}
    aligned = len(ids) == len(places) > 0
    top: tuple[tuple[TokenLogprob, ...], ...] = tuple(place.alternatives or (place.sampled,) for place in places)
    return {
        "token_ids": ids,
        "logprobs": tuple(place.sampled.logprob for place in places) if aligned else None,
        "top_logprobs": top or None,
    }


def _token_counts(choices: Sequence[dict[str, Any]], total: int) -> list[int]:
    """Tokens of each choice: counted where ids are there, else the sum of all shared out evenly."""
    if all(choice.get("token_ids") is not None for choice in choices):
        return [len(read_ids(choice["token_ids"])) for choice in choices]
    share, rest = divmod(total, len(choices))
    return [share + (place < rest) for place in range(len(choices))]


def count(value: Any) -> int:
    """A count that may be missing, or nonsense: then 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
