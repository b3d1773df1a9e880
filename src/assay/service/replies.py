"""Replies as they leave: JSON bytes, and every error in OpenAI's shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from assay.core.errors import AssayError, GenerationError, InputError
from assay.wire.body import dump
from assay.wire.errors import STATUS, TYPES, error_body

from .call import BodyTooLarge
from .gateway import NotFound

MEDIA_TYPE = "application/json"
_BAD_GATEWAY = 502


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """``value`` as compact JSON."""
    return Response(dump(value), status_code=status, headers=headers, media_type=MEDIA_TYPE)


def error_reply(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error that no failure kind stands behind."""
    return json_reply(error_body(TYPES.get(status, "error"), message), status, headers)


def reply_to(error: AssayError) -> Response:
    """The one reply of each error that a route may raise.

    A request that was not answered goes by its failure kind, with ``Retry-After`` where coming back may help.
    """
    if isinstance(error, GenerationError):
        return _unanswered(error)
    if isinstance(error, BodyTooLarge):
        return error_reply(413, str(error), {"Connection": "close"})
    if isinstance(error, NotFound):
        return error_reply(404, str(error))
    return error_reply(422 if isinstance(error, InputError) else 500, str(error))


def _unanswered(error: GenerationError) -> Response:
    status = STATUS.get(error.kind, _BAD_GATEWAY)
    headers: dict[str, str] = {}
    if status in (429, 503):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
    return json_reply(error_body(str(error.kind), error.detail), status, headers)
