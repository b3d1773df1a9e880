"""Turns of a conversation out of rows: ``{"role", "content"}``, the content a text or a list of text parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from assay.core.errors import InputError
from assay.core.types import Message


def read_turn(value: Any, where: str) -> Message:
    """One turn, its parts joined. ``where`` names the row in what is said. Raises InputError: it is none."""
    if isinstance(value, Mapping):
        turn = cast("Mapping[str, Any]", value)
        role, content = turn.get("role"), turn.get("content")
        if isinstance(role, str) and isinstance(content, str):
            return Message(role=role, content=content)
        if isinstance(role, str) and isinstance(content, list) and content:
            return Message(role=role, content="".join(_part(part, where) for part in cast("Sequence[Any]", content)))
    raise InputError(f"{where}: a turn needs a role and a text, got {value!r:.80}")


def read_turns(value: Any, where: str) -> tuple[Message, ...]:
    """A list of turns. Raises InputError: it is none, or is empty."""
    if isinstance(value, list) and value:
        return tuple(read_turn(turn, where) for turn in cast("Sequence[Any]", value))
    raise InputError(f"{where}: the prompt must be a text or a list of messages, got {value!r:.80}")


def _part(value: Any, where: str) -> str:
    """The text of ``{"type": "text", "text": ...}``."""
    part = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
    kind, text = part.get("type", "text"), part.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    if isinstance(kind, str) and kind != "text":
        raise InputError(f"{where}: a turn holds a part of type {kind!r}; models are trained on text alone")
    raise InputError(f"{where}: a part of a turn needs a type and a text, got {value!r:.80}")
