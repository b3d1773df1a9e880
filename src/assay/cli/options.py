"""Options that several verbs share, and how a raw flag becomes a checked value."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from assay.core.config import explain
from assay.core.errors import InputError

Choices = Annotated[
    bool, typer.Option("--choices", help="Read the probabilities of the judge's labels instead of a text.")
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Accept near misses of the verdict's format, and flag them.")]
Language = Annotated[str, typer.Option(help="Language of the judge's prompt: en or zh.")]

T = TypeVar("T", bound=BaseModel)


def json_option(flag: str, text: str) -> dict[str, Any]:
    """The JSON object of a flag. Raises InputError naming the flag."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{flag} is not JSON: {error} (got {text!r})") from error
    if not isinstance(value, dict):
        raise InputError(f"{flag} must be a JSON object such as '{{\"temperature\": 0.1}}' (got {text!r})")
    return value


def checked(kind: type[T], **values: Any) -> T:
    """A configuration object; a wrong value is one clear line. Raises InputError."""
    try:
        return kind(**values)
    except ValidationError as error:
        raise InputError(explain(error)) from error
