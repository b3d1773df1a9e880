"""One row -> one ``Item``, by a ``FieldMap``. Pure: no file, no order, no state.

What a row must hold and does not is a ``RowError`` whose text names the field; the caller knows the line.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any, Literal, TypeGuard, cast

from assay.core.types import Candidate, Content, Item, Message

from .cells import from_cell
from .fieldmap import FieldMap
from .gold import one_gold, read_gold
from .lookup import find
from .records import RowError
from .reference import read_reference

Need = Literal["candidates", "reference", "gold"]
"""What a caller cannot do without; a row that lacks it is a bad row, not an item."""

SHORT = 200
"""A text of at most so many characters is kept as metadata without being asked for."""

TEXT_KEYS = ("text", "content", "answer", "response", "solution")
AUTHOR_KEYS = ("author", "model", "llm_name")


def to_item(row: Mapping[str, Any], fields: FieldMap, fallback_id: str, *, need: Collection[Need], cells: bool) -> Item:
    """The item that ``row`` describes.

    Args:
        row: the row as read.
        fields: which field is what.
        fallback_id: the id of a row that names none.
        need: what must be there.
        cells: values are text cells (CSV): a list or a chat stands there as JSON text.

    Raises:
        RowError: something needed is absent or of the wrong kind.
    """
    messages, candidates = _conversation(row, fields, cells)
    if not candidates and "candidates" in need:
        raise RowError("no candidate answer in it")
    return Item(
        id=_id(row, fields) or fallback_id,
        messages=messages,
        candidates=_signed(row, fields, candidates),
        reference=_reference(row, fields, required="reference" in need, cells=cells),
        gold=_gold(row, fields, candidates, required="gold" in need, cells=cells),
        metadata=_metadata(row, fields, cells),
    )


def _signed(row: Mapping[str, Any], fields: FieldMap, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates with their authors. One field names the author of all, or a list of authors.

    Raises:
        RowError: authors are named, but not as many as there are candidates.
    """
    values = [find(row, path) for path in fields.authors]
    if len(values) == 1:
        every = isinstance(values[0], list | tuple)
        values = list(cast("Sequence[Any]", values[0])) if every else values * len(candidates)
    if not values or not candidates:
        return tuple(candidates)
    if len(values) != len(candidates):
        raise RowError(f"{len(values)} authors for {len(candidates)} candidates")
    return tuple(
        replace(one, author=author) if one.author is None and isinstance(author, str) and author else one
        for one, author in zip(candidates, values, strict=True)
    )


def _conversation(row: Mapping[str, Any], fields: FieldMap, cells: bool) -> tuple[tuple[Message, ...], list[Candidate]]:
    messages = None
    if fields.prompt:
        messages = read_messages(_required(row, fields.prompt, "prompt"), fields.prompt, cells)
    candidates: list[Candidate] = []
    for path in fields.candidates or (*fields.chosen, *fields.rejected):
        value = _required(row, path, "candidate")
        value = from_cell(value, '["', '[{"') if cells and len(fields.candidates) == 1 else value
        if _is_chat(value) and not fields.prompt:
            before = read_messages(value[:-1], path)
            if messages not in (None, before):
                raise RowError(f"the chat in {path!r} continues another conversation than the one before it")
            messages = before
        candidates += read_candidates(value, path)
    if messages is None:
        raise RowError("no field is named for the prompt")
    return messages, candidates


def read_messages(value: Any, path: str, cells: bool = False) -> tuple[Message, ...]:
    """A text as one user turn, or an OpenAI-style chat list turn by turn."""
    value = from_cell(value, '[{"') if cells else value
    if isinstance(value, str):
        if not value.strip():
            raise RowError(f"the prompt {path!r} is blank")
        return (Message(role="user", content=value),)
    if not _is_chat(value):
        raise RowError(f"the prompt {path!r} must be a text or a list of role and content, not {value!r:.80}")
    return tuple(Message(role=str(turn["role"]), content=_content(turn["content"], path)) for turn in value)


def read_candidates(value: Any, path: str) -> list[Candidate]:
    """The candidates in one field: a text, number, object with a text, chat (its last turn), or a list of these."""
    if isinstance(value, str):
        return [Candidate(text=value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [Candidate(text=str(value))]
    if _is_chat(value):
        return [Candidate(text=Message(role="assistant", content=_content(value[-1]["content"], path)).text)]
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        text = next((table[key] for key in TEXT_KEYS if isinstance(table.get(key), str)), None)
        author = next((table[key] for key in AUTHOR_KEYS if isinstance(table.get(key), str)), None)
        if text is not None:
            return [Candidate(text=text, author=author)]
    if isinstance(value, list | tuple):
        return [candidate for inner in cast("Sequence[Any]", value) for candidate in read_candidates(inner, path)]
    raise RowError(f"the candidate {path!r} must be a text, not {value!r:.80}")


def _gold(
    row: Mapping[str, Any], fields: FieldMap, candidates: list[Candidate], *, required: bool, cells: bool
) -> tuple[float, ...] | None:
    if not candidates:
        return None
    if fields.chosen or fields.rejected:
        better = sum(len(read_candidates(_required(row, path, "candidate"), path)) for path in fields.chosen)
        return tuple(float(i < better) for i in range(len(candidates)))
    values = [find(row, path) for path in fields.gold]
    missing = [path for path, value in zip(fields.gold, values, strict=True) if value is None or value == ""]
    if missing or not values:
        if required:
            raise RowError(f"gold is missing: {', '.join(map(repr, missing)) or 'no field is named for it'}")
        return None
    try:
        if len(values) == 1:
            return read_gold(from_cell(values[0], "[") if cells else values[0], len(candidates))
        if len(values) != len(candidates):
            raise RowError(f"{len(values)} gold fields for {len(candidates)} candidates")
        return tuple(one_gold(value) for value in values)
    except ValueError as error:
        raise RowError(f"{', '.join(map(repr, fields.gold))}: {error}") from error


def _reference(row: Mapping[str, Any], fields: FieldMap, *, required: bool, cells: bool) -> str | None:
    value = find(row, fields.reference) if fields.reference else None
    text = read_reference(from_cell(value, '["') if cells else value, fields.reference or "")
    if text is None:
        if required:
            raise RowError(f"the reference is missing: {fields.reference or 'no field is named for it'!r}")
        return None
    return text.rsplit(fields.reference_after, 1)[-1].strip() if fields.reference_after else text


def _id(row: Mapping[str, Any], fields: FieldMap) -> str | None:
    value = find(row, fields.id) if fields.id else None
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RowError(f"the id {fields.id!r} must be a text or a number, not {value!r:.80}")
    return str(value)


def _metadata(row: Mapping[str, Any], fields: FieldMap, cells: bool) -> dict[str, Any]:
    if fields.metadata is not None:
        return {path: jsonable(value) for path in fields.metadata if (value := find(row, path)) is not None}
    taken = set(fields.used)
    kept = {key: jsonable(value) for key, value in row.items() if key not in taken and _is_short(value)}
    inner = from_cell(row.get("metadata"), "{") if cells else row.get("metadata")
    if isinstance(inner, Mapping):
        kept.pop("metadata", None)
        kept.update({str(key): jsonable(value) for key, value in cast("Mapping[Any, Any]", inner).items()})
    return kept


def jsonable(value: Any) -> Any:
    """The value as JSON can hold it: NaN and infinity become null, dates ISO texts, anything unknown its text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in cast("Sequence[Any]", value)]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


def _required(row: Mapping[str, Any], path: str, what: str) -> Any:
    value = find(row, path)
    if value is None:
        raise RowError(f"the {what} field {path!r} is missing")
    return value


def _is_chat(value: Any) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    if not (isinstance(value, list | tuple) and value):
        return False
    turns = cast("Sequence[Any]", value)
    return all(isinstance(turn, Mapping) and "role" in turn and "content" in turn for turn in turns)


def _content(value: Any, path: str) -> Content:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, Mapping) for part in cast("Sequence[Any]", value)):
        return tuple(cast("Sequence[Mapping[str, Any]]", value))
    raise RowError(f"the content of a turn in {path!r} must be a text or a list of parts, not {value!r:.80}")


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT
    return isinstance(value, bool | int | float | date)
