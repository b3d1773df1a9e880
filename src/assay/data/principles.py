"""Files of principles, and principles out of recorded judgments.

Two kinds of file: TOML with ``[[principle]]`` tables (``name``, ``text``, ``weight``), the same for all items; and
JSONL, one prompt a line, found by the hash of its conversation. Owns: both, and which recorded texts principles are
taken from. Does not own: what principles are and how a text holds them (``judges``).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Candidate, Failure, Item
from assay.judges.principle_text import parse_principles
from assay.judges.principles import KEY, Principles, conversation_hash, from_principles, to_principles

from .canonical import item_from_row
from .results import ResultRow
from .rows import RowError

NO_CANDIDATE = (Candidate(text=""),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """``by_prompt``: principles by the hash of their conversation. The others count recorded votes that gave none."""

    by_prompt: Mapping[str, dict[str, Any]]
    wrong: int = 0
    """Left out because the verdict was not the right one, or there is no gold to tell."""
    unread: int = 0
    """Left out because the text holds no principles, or the row does not hold the item."""


def load_given(path: Path) -> Principles:
    """The principles of a TOML file.

    Raises:
        InputError: the file cannot be read, or is wrong; the message names file, key and value.
    """
    try:
        keys = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    unknown = [key for key in keys if key != "principle"]
    if unknown or "principle" not in keys:
        got = f"got {unknown[0]!r}" if unknown else "there is none"
        raise InputError(f"{path}: a file of principles holds [[principle]] tables, {got}")
    try:
        return to_principles(keys["principle"])
    except ValueError as error:
        raise InputError(f"{path}: principle: {error}") from error


def load_stored(path: Path) -> dict[str, Principles]:
    """The principles of a JSONL file by the hash of their conversation; a later line wins over an earlier one.

    Raises:
        InputError: the file cannot be read, or a line is wrong; the message names file and line.
    """
    found: dict[str, Principles] = {}
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found[str(row["conversation"])] = to_principles(row[KEY])
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: needs 'conversation' and {KEY!r}, got {line!r:.80}") from error
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
    return found


def attach(items: Iterable[Item], stored: Mapping[str, Principles]) -> tuple[Item, ...]:
    """The items, each with the principles of its conversation in its metadata; those without any stay as they are."""
    return tuple(_attached(item, stored.get(_hash(item) or "")) for item in items)


def prompts(items: Iterable[Item]) -> tuple[Item, ...]:
    """One item for each different conversation, called by its hash, with an empty candidate: what principles are
    written for. An item whose conversation no judge takes stays, under its own name, so that it is refused by name."""
    found: dict[str, Item] = {}
    for item in items:
        name = _hash(item) or item.id
        found.setdefault(name, Item(id=name, messages=item.messages, candidates=NO_CANDIDATE))
    return tuple(found.values())


def take(rows: Iterable[ResultRow], *, right_only: bool = False) -> Taken:
    """The principles that recorded judgments were made by, one set for each conversation: of the first vote that has.

    Args:
        right_only: take them only from verdicts that agree with gold (DeepSeek-GRM table 1, "filtered"). This looks at
            the labels, so it is for making training data, not for measuring on the same items.
    """
    found: dict[str, dict[str, Any]] = {}
    wrong = unread = 0
    for row in rows:
        if right_only and not is_right(row):
            wrong += 1
            continue
        item = _item(row)
        told = None if item is None else stored_row(item, row)
        if told is None:
            unread += 1
            continue
        found.setdefault(str(told["conversation"]), told)
    return Taken(by_prompt=found, wrong=wrong, unread=unread)


def stored_row(item: Item, row: ResultRow) -> dict[str, Any] | None:
    """A line of a file of principles out of what was recorded about ``item``; None where its text holds none.

    Judge, model and question say where they are from.
    """
    name, principles = _hash(item), parse_principles(row.text)
    if name is None or isinstance(principles, Failure):
        return None
    return {
        "conversation": name,
        "question": item.question,
        KEY: from_principles(principles),
        "judge": row.judge_identity or row.judge,
        "model": row.model,
    }


def is_right(row: ResultRow) -> bool:
    """Whether a verdict agrees with gold by the rule of training (DeepSeek-GRM eq. 10): the one best candidate scores
    above all others, a tie is wrong; a single candidate has its gold as score. False without gold or verdict."""
    scores, gold = row.ranking, row.own_gold
    if scores is None or gold is None or len(scores) != len(gold):
        return False
    if len(gold) == 1:
        return scores[0] == gold[0]
    best = max(range(len(gold)), key=lambda index: gold[index])
    others = [index for index in range(len(gold)) if index != best]
    return all(gold[best] > gold[index] and scores[best] > scores[index] for index in others)


def _hash(item: Item) -> str | None:
    """The hash of the item's conversation; None for one that judges refuse (no messages, images)."""
    try:
        return conversation_hash(item)
    except InputError:
        return None


def _attached(item: Item, principles: Principles | None) -> Item:
    if principles is None:
        return item
    return replace(item, metadata={**item.metadata, KEY: from_principles(principles)})


def _item(row: ResultRow) -> Item | None:
    try:
        return item_from_row(row.item) if row.item else None
    except RowError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"file of principles {str(path)!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"file of principles {str(path)!r} is not UTF-8 (byte {error.start})") from error
