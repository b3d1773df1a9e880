"""Errors on the wire: OpenAI's shape, the status of each failure kind, and the way back for a client."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from assay.core.types import FailureKind, Json

from .body import Reply

STATUS: Mapping[FailureKind, int] = {
    FailureKind.TIMEOUT: 504,
    FailureKind.OVERLOADED: 429,
    FailureKind.CONTEXT_OVERFLOW: 400,
    FailureKind.BAD_REQUEST: 400,
    FailureKind.ENGINE_ERROR: 502,
    FailureKind.ASLEEP: 503,
    FailureKind.CANCELLED: 499,
}
"""The status of a request that was not answered. The other kinds are judgments that failed, and are replies (200)."""

TYPES: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    422: "invalid_request",
    500: "internal_error",
}
"""``error.type`` of a status that no failure kind stands behind."""


class ErrorDetail(Reply):
    """``type`` is a failure kind (contracts, section 5) or one of ``not_found``, ``invalid_request``, ...."""

    type: str
    message: str


class ErrorReply(Reply):
    """Every error of the service, whatever its status."""

    error: ErrorDetail


def error_body(type_: str, message: str) -> dict[str, Json]:
    """The JSON of an ``ErrorReply``."""
    return {"error": {"type": type_, "message": message}}


def read_error(status: int, data: bytes) -> ErrorDetail:
    """The error in a reply; a body that is not ours (a proxy's page) is quoted."""
    try:
        return ErrorReply.model_validate_json(data).error
    except ValidationError:
        quoted = data[:200].decode("utf-8", "replace").strip()
        return ErrorDetail(type=TYPES.get(status, "error"), message=f"HTTP {status}: {quoted or 'no body'}")


def to_kind(status: int, type_: str) -> FailureKind:
    """The failure kind that an error reply stands for."""
    if type_ in set(FailureKind):
        return FailureKind(type_)
    match status:
        case 429:
            return FailureKind.OVERLOADED
        case 503:
            return FailureKind.ASLEEP
        case 504 | 408:
            return FailureKind.TIMEOUT
        case status if status >= 500:
            return FailureKind.ENGINE_ERROR
        case _:
            return FailureKind.BAD_REQUEST
