"""SGLang's JSON as completions. Pure; whatever is not as it should be is an ENGINE_ERROR that says what was there.

The chat route is OpenAI's, with a few fields more, and is read where that is read; the native route and the meta
information of both are read here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, Request, SamplingParams, TokenLogprob
from assay.engines.grammars import check_json, not_followed

from ..openai.alternatives import LOWEST
from ..openai.reply import count, finish_reason, read_choices, read_completions
from .body import Call
from .config import SGLangConfig
from .failures import malformed


def read_reply(data: Any, call: Call, request: Request) -> tuple[Completion, ...]:
    """The completions of one call, in index order.

    Of ``n`` samples SGLang reads the prompt once before it begins, and reports it as cached for all of them.
    """
    request = replace(request, n=call.n)
    found = _chat(data, request) if call.chat else _native(data, request)
    for completion in found:
        if completion.finish_reason == "abort":
            raise GenerationError(FailureKind.ENGINE_ERROR, "SGLang aborted the request before its reply was whole")
    return tuple(replace(completion, seed=call.seed) for completion in found)


def check_constrained(completion: Completion, sampling: SamplingParams, config: SGLangConfig) -> None:
    """Raises GenerationError (engine_error) for a whole reply that breaks the grammar it was asked to follow.

    Of regular expressions only that of the configuration is matched here, see ``check_json``.
    """
    check_json(completion, sampling)
    if config.regex is None or sampling.regex != config.regex or completion.finish_reason != "stop":
        return
    text = completion.text.rpartition("</think>")[2]
    if re.fullmatch(config.regex, text) is None:
        raise not_followed(text)


def numbers(entry: Any) -> tuple[float, int, str]:
    """Log-prob, token id and text of ``[logprob, id, text]``; a log-prob of minus infinity comes as null."""
    try:
        logprob, token, text = entry
        return (LOWEST if logprob is None else max(float(logprob), LOWEST)), int(token), str(text or "")
    except (TypeError, ValueError) as error:
        raise malformed(f"a token's log-prob is {entry!r:.80}") from error


def outputs(data: Any, n: int) -> list[dict[str, Any]]:
    """The samples of a native reply: an object for one, a list for several. Raises GenerationError."""
    found = cast("list[Any]", data) if isinstance(data, list) else [data]
    if len(found) != n or not all(isinstance(one, dict) and isinstance(one.get("meta_info"), dict) for one in found):
        raise malformed(f"{n} samples were asked for, the reply is {data!r:.120}")
    return cast("list[dict[str, Any]]", found)


def _chat(data: Any, request: Request) -> list[Completion]:
    found = read_completions(data, request, chat=True)
    metadata = data.get("metadata")
    version = str(metadata.get("weight_version") or "") if isinstance(metadata, dict) else ""
    completions = [replace(completion, weight_version=version) for completion in found]
    if request.sampling.logprobs is None:
        return completions
    metas = [choice.get("meta_info") for choice in read_choices(data, request.n)]
    return [replace(one, **_tokens(meta, request)) for one, meta in zip(completions, metas, strict=True)]


def _native(data: Any, request: Request) -> list[Completion]:
    completions: list[Completion] = []
    for index, output in enumerate(outputs(data, request.n)):
        meta: dict[str, Any] = output["meta_info"]
        reason, text, ids = meta.get("finish_reason"), output.get("text"), output.get("output_ids")
        if not isinstance(reason, dict) or not isinstance(text, str) or not isinstance(ids, list):
            raise malformed(f"a sample without text, ids or finish reason: {output!r:.160}")
        completion = Completion(
            request_id=request.id,
            text=text,
            index=index,
            finish_reason=finish_reason(reason.get("type")),
            token_ids=tuple(cast("list[int]", ids)),
            prompt_tokens=count(meta.get("prompt_tokens")),
            cached_tokens=count(meta.get("cached_tokens")),
            completion_tokens=count(meta.get("completion_tokens")),
            weight_version=str(meta.get("weight_version") or ""),
        )
        asked = request.sampling.logprobs is not None
        completions.append(replace(completion, **_tokens(meta, request)) if asked else completion)
    return completions


def _tokens(meta: Any, request: Request) -> dict[str, Any]:
    """Ids, log-probs and alternatives of one sample, out of its meta information."""
    found = meta.get("output_token_logprobs") if isinstance(meta, dict) else None
    if not isinstance(found, list):
        raise malformed("log-probs were asked for and the reply has none; SGLang 0.5.17 or newer is needed")
    places = [numbers(entry) for entry in cast("list[Any]", found)]
    tokens: dict[str, Any] = {
        "token_ids": tuple(token for _, token, _ in places),
        "logprobs": tuple(logprob for logprob, _, _ in places),
        "completion_tokens": len(places),
    }
    if request.sampling.logprobs:
        tops = cast("Sequence[Any]", meta.get("output_top_logprobs") or ())
        tokens["top_logprobs"] = tuple(tuple(_token(entry) for entry in place or ()) for place in tops)
    return tokens


def _token(entry: Any) -> TokenLogprob:
    logprob, token, text = numbers(entry)
    return TokenLogprob(token_id=token, text=text, logprob=logprob)
