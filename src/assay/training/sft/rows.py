"""Rows to fine-tune on, and their checks. No torch here.

``{"messages": [..., the assistant's turn]}``, or ``{"prompt": text or chat list, "completion": text}``, each with an
optional ``weight``. With a completion, ``messages`` is the prompt as well, and so is ``prompt_messages``, what a judge
asks about an item (``assay data generate --judge``): it stands before ``prompt``, the item's own question. Other
columns, which say where a row comes from, are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from assay.core.errors import InputError
from assay.core.types import Message
from assay.data import JsonLines, Part
from assay.data.records import BadRecord
from assay.data.turns import read_turn, read_turns

PROMPTS = ("prompt_messages", "messages", "prompt")
"""Columns of the prompt; the first that a row has counts."""

Prompt: TypeAlias = "str | tuple[Message, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SftRow:
    """One row: what is given and what is learned. ``where`` names it in errors."""

    prompt: Prompt
    completion: str
    weight: float = 1.0
    where: str = ""


def part_rows(part: Part, source: str) -> Iterator[SftRow]:
    """The rows of a part of a source.

    Raises:
        InputError: it is not UTF-8, or a row lacks something; names the line and its fields.
    """
    for record in part.records() if isinstance(part, JsonLines) else part:
        where = f"{source!r}, line {record.line}"
        if isinstance(record, BadRecord):
            raise InputError(f"{where}: {record.reason}")
        yield read_row(record.row, where)


def read_row(row: Mapping[str, Any], where: str) -> SftRow:
    """See the module. Raises InputError."""
    given = next((row[name] for name in PROMPTS if row.get(name) is not None), None)
    if given is None:
        raise InputError(f"{where}: a row needs 'messages', or 'prompt' and 'completion'; there are {', '.join(row)}")
    prompt, said = _prompt(given, where), row.get("completion")
    if said is None:
        prompt, completion = _split(prompt, where)
    else:
        completion = _completion(said, where)
    if not completion.strip():
        raise InputError(f"{where}: the completion is empty: there is no token to learn from")
    return SftRow(prompt=prompt, completion=completion, weight=_weight(row.get("weight"), where), where=where)


def _split(prompt: Prompt, where: str) -> tuple[Prompt, str]:
    if isinstance(prompt, str):
        raise InputError(f"{where}: a text prompt needs a 'completion'")
    if len(prompt) < 2 or prompt[-1].role != "assistant":
        roles = [turn.role for turn in prompt]
        raise InputError(
            f"{where}: without 'completion' the last turn is learned, and must be the assistant's: {roles}"
        )
    return prompt[:-1], prompt[-1].text


def _prompt(value: Any, where: str) -> Prompt:
    if isinstance(value, str) and value:
        return value
    return read_turns(value, where)


def _completion(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(cast("Sequence[Any]", value)) == 1:
        turn = read_turn(value[0], where)
        if turn.role == "assistant":
            return turn.text
    raise InputError(f"{where}: the completion must be a text or one turn of the assistant, not {value!r:.80}")


def _weight(value: Any, where: str) -> float:
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise InputError(f"{where}: the weight must be a positive number, not {value!r}")
    return float(value)
