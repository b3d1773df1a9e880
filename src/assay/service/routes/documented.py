"""Error replies as the OpenAPI document tells them."""

from __future__ import annotations

from typing import Any

from assay.wire.errors import ErrorReply

_TOLD = {
    400: "The prompt is over the context (both lengths are told), or the engine cannot take the request.",
    401: "Missing or wrong bearer token.",
    404: "Unknown route key or judge.",
    413: "The body is over the limit.",
    422: "The body is malformed; the message names the place and the value.",
    429: "The queue is full; come back after `Retry-After` seconds.",
    502: "The engine was lost, after its own retries.",
    503: "Starting, asleep or draining; come back after `Retry-After` seconds.",
    504: "The deadline passed.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that may answer with these statuses."""
    return {status: {"model": ErrorReply, "description": _TOLD[status]} for status in statuses}


UNANSWERED = errors(*_TOLD)
