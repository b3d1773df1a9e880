"""Structured output on the wire: SGLang's ``regex`` and ``json_schema``, and OpenAI's ``response_format``."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from .body import Body, JsonObject


def _as_object(value: Any) -> Any:
    """SGLang takes a schema as JSON text; here the object itself will do as well."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None


Regex = Annotated[str, Field(min_length=1, max_length=10_000)]
SchemaOrText = Annotated[JsonObject, BeforeValidator(_as_object, json_schema_input_type=dict[str, Any] | str)]


class NamedSchema(Body):
    """``json_schema`` of a response format."""

    name: str = "reply"
    description: str | None = None
    schema_: Annotated[JsonObject, Field(alias="schema")]
    strict: bool | None = None
    """Accepted; a schema is always applied as it stands."""


class TextFormat(Body):
    """Free text."""

    type: Literal["text"]


class JsonObjectFormat(Body):
    """Any JSON object."""

    type: Literal["json_object"]


class JsonSchemaFormat(Body):
    """JSON that follows a schema."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


ResponseFormat = Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat, Field(discriminator="type")]


def wanted_schema(form: ResponseFormat | None) -> dict[str, Any] | None:
    """The schema that a response format asks for; None for free text."""
    match form:
        case JsonSchemaFormat():
            return form.json_schema.schema_
        case JsonObjectFormat():
            return {"type": "object"}
        case _:
            return None
