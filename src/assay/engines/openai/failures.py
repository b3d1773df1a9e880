"""What an HTTP reply that is not 200 means: which kind of failure, in words, and whether another attempt may help."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.errors import RETRYABLE, GenerationError
from assay.core.types import FailureKind

_CONTEXT = re.compile(
    r"context.?(?:length|window|size)|maximum (?:context|model) len|longer than the (?:model|maximum)|max_model_len"
    r"|(?:prompt|input) is too long|exceeds? the (?:model|maximum|available context)",
    re.IGNORECASE,
)
_MODERATED = re.compile(r"content.?(?:filter|policy|management)|moderation|flagged|safety", re.IGNORECASE)
_NEVER = re.compile(r"insufficient_quota|billing", re.IGNORECASE)
HINTS: Mapping[int, str] = {
    401: "the server wants another API key; set api_key_env",
    403: "the API key may not use this model",
    404: "check that base_url ends in /v1 and that the server serves this model",
    405: "check that base_url ends in /v1",
}
"""What may be wrong, by the status of a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A failure, and whether the same request may succeed in another attempt."""

    error: GenerationError
    again: bool


def read_refusal(status: int, text: str, url: str, after: float | None, hints: Mapping[int, str] = HINTS) -> Refusal:
    """The meaning of a reply with this status and body. ``after``: seconds asked for by ``Retry-After``."""
    kind_said, message = _said(text)
    kind = _kind(status, kind_said, f"{kind_said} {message}")
    hint = f" ({hints[status]})" if status in hints and kind is FailureKind.BAD_REQUEST else ""
    error = GenerationError(kind, f"HTTP {status} from {url}: {message or 'no body'}{hint}", retry_after=after)
    # A quota that is used up is said with the status of a rate limit; no pause brings it back.
    return Refusal(error=error, again=kind in RETRYABLE and not (status == 429 and _NEVER.search(text)))


def broken(what: str) -> GenerationError:
    """The failure of a reply that is not in OpenAI's shape."""
    return GenerationError(FailureKind.ENGINE_ERROR, f"the server's reply is malformed: {what}")


def _said(text: str) -> tuple[str, str]:
    """Type (or code) and message of an error body; of another body, its beginning."""
    try:
        body: Any = json.loads(text)
    except ValueError:
        return "", " ".join(text.split())[:300]
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return "", str(error)[:300]
    named = " ".join(str(error[key]) for key in ("type", "code") if error.get(key))
    return named, str(error.get("message") or error.get("detail") or error)[:500]


def _kind(status: int, named: str, text: str) -> FailureKind:
    # Assay's own service writes the kind itself into ``error.type``.
    for word in named.split():
        if word in set(FailureKind):
            return FailureKind(word)
    if status == 429:
        return FailureKind.OVERLOADED
    if status in (408, 409) or status >= 500:
        return FailureKind.ENGINE_ERROR
    if status in (400, 413, 422) and _CONTEXT.search(text):
        return FailureKind.CONTEXT_OVERFLOW
    if status in (400, 403, 451) and _MODERATED.search(text):
        return FailureKind.REFUSED
    return FailureKind.BAD_REQUEST
