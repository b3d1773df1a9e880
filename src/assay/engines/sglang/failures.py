"""What a reply of the server that is not 200 means, as one of our kinds of failure. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from assay.core.errors import GenerationError
from assay.core.types import FailureKind

_TOO_LONG = re.compile(
    r"longer than the model's context|maximum context length|exceeds the maximum allowed length", re.I
)
_PROMPT = re.compile(r"input \((\d+) tokens\)|(\d+) tokens from the input|Input length \((\d+) tokens\)", re.I)
_CONTEXT = re.compile(r"context length (?:of |\()(\d+) tokens|allowed length \((\d+) tokens\)", re.I)
_QUEUE_FULL_S = 1.0


class ContextOverflow(GenerationError):
    """A prompt, or a prompt and the longest reply asked for, that the context does not hold.

    ``room``: tokens that the context leaves for a reply; None where it leaves none, or the server did not say.
    """

    def __init__(self, detail: str, room: int | None) -> None:
        super().__init__(FailureKind.CONTEXT_OVERFLOW, detail)
        self.room = room


def read_failure(status: int, text: str, path: str) -> GenerationError:
    """The failure that a reply with this status and body is."""
    message = _message(text)
    detail = f"SGLang answered HTTP {status} to {path}: {message or 'no body'}"
    if status == 503:
        return GenerationError(FailureKind.OVERLOADED, detail, retry_after=_QUEUE_FULL_S)
    if status in (400, 413) and _TOO_LONG.search(message):
        prompt, context = _number(_PROMPT, message), _number(_CONTEXT, message)
        if prompt is None or context is None:
            return ContextOverflow(detail, None)
        return overflow(prompt, context)
    if status in (400, 413, 422):
        return GenerationError(FailureKind.BAD_REQUEST, detail)
    return GenerationError(FailureKind.ENGINE_ERROR, detail)


def overflow(prompt: int, context: int) -> ContextOverflow:
    """The failure of a prompt of so many tokens."""
    detail = f"the prompt has {prompt} tokens and the context holds {context}"
    return ContextOverflow(detail, context - prompt if context > prompt else None)


def malformed(what: str) -> GenerationError:
    """The failure of a reply that says something else than it should."""
    return GenerationError(FailureKind.ENGINE_ERROR, f"SGLang's reply is malformed: {what}")


def _number(pattern: re.Pattern[str], message: str) -> int | None:
    found = pattern.search(message)
    return None if found is None else next((int(group) for group in found.groups() if group), None)


def _message(text: str) -> str:
    """The message of an error body; the native routes and the OpenAI ones write it in different places."""
    try:
        body: Any = json.loads(text)
    except ValueError:
        return " ".join(text.split())[:500]
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return str(error)[:500]
