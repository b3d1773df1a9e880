"""Chat messages as OpenAI writes them, and the way to and from ``Message``.

Content parts (text, images) pass through as they are: whether a model takes them is for the engine to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from assay.core.types import Message

from .body import Body, JsonObject

Role = Literal["system", "developer", "user", "assistant", "tool"]


def _parts(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for place, part in enumerate(parts):
        if not isinstance(part.get("type"), str):
            raise ValueError(f"content part {place} has no 'type' (text, image_url, ...)")
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            raise ValueError(f"content part {place} is of type 'text' and has no 'text'")
    return parts


Parts = Annotated[list[JsonObject], Field(min_length=1), AfterValidator(_parts)]


class MessageBody(Body):
    """One turn."""

    role: Role
    content: str | Parts
    """Text, or OpenAI's content parts: ``{"type": "text", "text": ...}``, ``{"type": "image_url", ...}``."""


Messages = Annotated[list[MessageBody], Field(min_length=1)]


def to_messages(bodies: Sequence[MessageBody]) -> tuple[Message, ...]:
    """Messages off the wire."""
    return tuple(
        [
            Message(role=body.role, content=body.content if isinstance(body.content, str) else tuple(body.content))
            for body in bodies
        ]
    )


def from_message(message: Message) -> dict[str, Any]:
    """A message for the wire."""
    content = message.content if isinstance(message.content, str) else [dict(part) for part in message.content]
    return {"role": message.role, "content": content}
