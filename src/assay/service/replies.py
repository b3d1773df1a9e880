"""Replies as they leave: JSON bytes, and every error in OpenAI's shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from assay.core.errors import GenerationError
from assay.wire.body import dump
from assay.wire.errors import STATUS, TYPES, error_body

MEDIA_TYPE = "application/json"
_BAD_GATEWAY = 502


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """``value`` as compact JSON."""
    return Response(dump(value), status_code=status, headers=headers, media_type=MEDIA_TYPE)


def error_reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error that no failure kind stands behind."""
    return json_reply(error_body(TYPES.get(status, "error"), message), status, headers)


def failure_reply(error: GenerationError) -> Response:
    """A request that was not answered, by its kind; with ``Retry-After`` where coming back may help."""
    status = STATUS.get(error.kind, _BAD_GATEWAY)
    headers: dict[str, str] = {}
    if status in (429, 503):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
    return json_reply(error_body(str(error.kind), error.detail), status, headers)
