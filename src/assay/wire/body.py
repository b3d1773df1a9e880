"""What every body on the wire has in common, and how an invalid one is explained.

Bodies are strict: a key that nothing reads and a value of the wrong JSON type are refused by name, never dropped or
guessed at. A body that came through means what it says.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from assay.core.errors import InputError

B = TypeVar("B", bound="Body")


def _finite(value: dict[str, Any]) -> dict[str, Any]:
    """The value; the parser lets NaN and infinity through where anything goes, and they are no JSON."""
    pending: list[Any] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending.extend(cast("dict[str, Any]", part).values())
        elif isinstance(part, list):
            pending.extend(cast("list[Any]", part))
        elif isinstance(part, float) and not math.isfinite(part):
            raise ValueError(f"{part} is not a JSON number")
    return value


JsonObject = Annotated[dict[str, Any], AfterValidator(_finite)]
"""An object whose keys are not ours to know."""


class Body(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class Reply(BaseModel):
    """A reply body. A client ignores the keys that it does not know, so that an older one reads a newer service."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


def parse(model: type[B], data: bytes) -> B:
    """The body that ``data`` holds.

    Raises:
        InputError: not JSON, or not this body; the message names the place and the value.
    """
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise InputError(explain(error, data)) from None


def explain(error: ValidationError, data: bytes = b"") -> str:
    """An invalid body as one line: where, what, and the value that was given. At most five faults are told."""
    faults = error.errors(include_url=False)
    if faults[0]["type"] == "json_invalid":
        return (
            f"the body is not JSON: {faults[0]['msg'].removeprefix('Invalid JSON: ')}" if data else "the body is empty"
        )
    told = [_fault(fault) for fault in faults[:5]]
    if len(faults) > len(told):
        told.append(f"and {len(faults) - len(told)} more")
    return "; ".join(told)


def dump(value: Any) -> bytes:
    """Compact JSON. Text that is not valid Unicode (lone surrogates of a model's output) is escaped, not refused."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _fault(fault: Any) -> str:
    place = ".".join(str(part) for part in fault["loc"]) or "body"
    if fault["type"] == "extra_forbidden":
        return f"{place}: unknown key (got {fault['input']!r:.80})"
    message = fault["msg"].removeprefix("Value error, ")
    return (
        f"{place}: {message}"
        if fault["type"] in ("missing", "value_error")
        else f"{place}: {message} (got {fault['input']!r:.80})"
    )
