"""The canonical row of an ``Item``, and back: the form in which Assay writes items, and reads without any mapping.

``{"id", "prompt" | "messages", "candidates", "reference"?, "gold"?, "metadata"?}``: JSON-like, ``prompt`` for one plain
user turn, a candidate a text, or an object with ``text`` and ``author`` where the author is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.types import Candidate, Item, Message

from .fieldmap import FieldMap
from .rows import jsonable, to_item

_PROMPT = FieldMap(prompt="prompt", candidates=("candidates",), reference="reference", gold=("gold",), id="id")
_MESSAGES = _PROMPT.model_copy(update={"prompt": "messages"})


def item_to_row(item: Item) -> dict[str, Any]:
    """The item as a JSON-able row; ``item_from_row`` gives an equal item back."""
    row: dict[str, Any] = {"id": item.id}
    only = item.messages[0] if len(item.messages) == 1 else None
    if only and only.role == "user" and isinstance(only.content, str) and only.content.strip():
        row["prompt"] = only.content
    else:
        row["messages"] = [_turn(message) for message in item.messages]
    row["candidates"] = [_candidate(candidate) for candidate in item.candidates]
    if item.reference is not None:
        row["reference"] = item.reference
    if item.gold is not None:
        row["gold"] = list(item.gold)
    if item.metadata:
        row["metadata"] = jsonable(item.metadata)
    return row


def item_from_row(row: Mapping[str, Any]) -> Item:
    """The item of a canonical row.

    Raises:
        RowError: the row is not canonical; the text names the field.
    """
    fields = _PROMPT if "prompt" in row else _MESSAGES
    extra = {key: value for key, value in row.items() if key in CANONICAL}
    return to_item(extra, fields, "", need=(), cells=False)


CANONICAL = frozenset({"id", "prompt", "messages", "candidates", "reference", "gold", "metadata"})


def _turn(message: Message) -> dict[str, Any]:
    content = message.content
    return {"role": message.role, "content": content if isinstance(content, str) else [dict(part) for part in content]}


def _candidate(candidate: Candidate) -> Any:
    return candidate.text if candidate.author is None else {"text": candidate.text, "author": candidate.author}
