"""OpenAI's replies: the chat completion, its chunks, the list of models; and how completions become them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.core.types import Completion, FinishReason, Json

from .body import Reply

LOGPROB_FLOOR = -9999.0
"""What OpenAI's shape writes for a probability of zero; JSON has no infinity."""


class ChatUsage(Reply):
    """Tokens of the prompt and of all choices together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]


class TopLogprobReply(Reply):
    """A token that the model saw at one place. ``token`` is ``token_id:<id>`` where the engine tells no text."""

    token: str
    logprob: float
    bytes: list[int] | None


class TokenLogprobReply(TopLogprobReply):
    """The token that was sampled, and the likeliest ones beside it."""

    top_logprobs: list[TopLogprobReply]


class LogprobsReply(Reply):
    """One entry per sampled token."""

    content: list[TokenLogprobReply]
    refusal: None = None


class AnswerReply(Reply):
    """The answer of one choice."""

    role: Literal["assistant"]
    content: str
    refusal: None = None


class ChoiceReply(Reply):
    """One sample."""

    index: int
    message: AnswerReply
    finish_reason: Literal["stop", "length"]
    logprobs: LogprobsReply | None


class ChatReply(Reply):
    """A chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChoiceReply]
    usage: ChatUsage
    system_fingerprint: str
    """The version of the weights that answered."""


class ModelReply(Reply):
    """An instance, under the name that ``model`` takes."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelsReply(Reply):
    """All instances."""

    object: Literal["list"] = "list"
    data: list[ModelReply]


def chat_reply(
    reply_id: str, created: int, model: str, completions: Sequence[Completion], top_logprobs: int = 0
) -> dict[str, Json]:
    """The JSON of a ``ChatReply``; as many alternatives to each token are told as were asked for.

    The completions are whole: none of them has finish reason ``abort``.
    """
    first = completions[0]
    generated = sum(completion.completion_tokens for completion in completions)
    return {
        "id": reply_id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [_choice(completion, top_logprobs) for completion in completions],
        "usage": {
            "prompt_tokens": first.prompt_tokens,
            "completion_tokens": generated,
            "total_tokens": first.prompt_tokens + generated,
            "prompt_tokens_details": {"cached_tokens": first.cached_tokens},
        },
        "system_fingerprint": first.weight_version,
    }


def chat_chunk(
    reply_id: str, created: int, model: str, index: int, text: str | None, finish_reason: FinishReason | None
) -> dict[str, Json]:
    """The JSON of one ``chat.completion.chunk``; ``text`` None opens the choice with the assistant's role."""
    delta: dict[str, Json] = {"role": "assistant", "content": ""} if text is None else {"content": text}
    return {
        "id": reply_id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [{"index": index, "delta": delta, "finish_reason": finish_reason, "logprobs": None}],
    }


def _choice(completion: Completion, top_logprobs: int) -> dict[str, Json]:
    return {
        "index": completion.index,
        "message": {"role": "assistant", "content": completion.text, "refusal": None},
        "finish_reason": completion.finish_reason,
        "logprobs": _logprobs(completion, top_logprobs),
    }


def _logprobs(completion: Completion, top_logprobs: int) -> Json:
    if completion.logprobs is None:
        return None
    tops = completion.top_logprobs or ((),) * len(completion.token_ids)
    content: list[Json] = []
    for token_id, logprob, top in zip(completion.token_ids, completion.logprobs, tops, strict=True):
        text = next((other.text for other in top if other.token_id == token_id), None)
        others: list[Json] = [_token(other.token_id, other.text, other.logprob) for other in top[:top_logprobs]]
        content.append({**_token(token_id, text, logprob), "top_logprobs": others})
    return {"content": content, "refusal": None}


def _token(token_id: int, text: str | None, logprob: float) -> dict[str, Json]:
    return {
        "token": f"token_id:{token_id}" if text is None else text,
        "logprob": max(logprob, LOGPROB_FLOOR),
        "bytes": None if text is None else list(text.encode("utf-8", "replace")),
    }
