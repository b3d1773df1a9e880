"""Labels of several people for the same item, and the PandaLM test set, which has three of them a pair.

Owns: how they are read into rewards of the candidates, and the label that most of them gave. Does not own: how far they
agree (``agreement``).
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Candidate, Item, Message
from assay.data.gold import read_gold
from assay.data.records import AnyRecord, BadRecord

Rewards = tuple[float, ...]
HUMANS = "humans"
"""In an item's metadata: one label a person, in any form that gold has."""

_LISTED = 20

_PANDALM = ("instruction", "response1", "response2", "annotator1", "annotator2", "annotator3")
_WON: Mapping[Any, Rewards] = {0: (0.5, 0.5), 1: (1.0, 0.0), 2: (0.0, 1.0)}


def labels_of(item: Item, annotators: Sequence[str] = ()) -> tuple[Rewards | None, ...]:
    """What each person said of the item, as rewards; None for who said nothing.

    Args:
        annotators: metadata fields that hold one label each; without any, the list under ``humans``.

    Raises:
        InputError: a label that cannot be read; the message names item, field and value.
    """
    if annotators:
        told = {name: item.metadata.get(name) for name in annotators}
    else:
        many = item.metadata.get(HUMANS)
        told = {f"{HUMANS}[{place}]": one for place, one in enumerate(many)} if isinstance(many, list | tuple) else {}
    return tuple(None if value in (None, "") else _read(item, name, value) for name, value in told.items())


def check_annotators(items: Sequence[Item], annotators: Sequence[str]) -> None:
    """Refuse a name that is in the metadata of no item: it would be somebody who said nothing of anything.

    Raises:
        InputError: the message names those there are.
    """
    known = list(dict.fromkeys(name for item in items for name in item.metadata if name != HUMANS))
    for name in annotators:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            there = f"there are {', '.join(known[:_LISTED])}" if known else "they have none"
            if any(HUMANS in item.metadata for item in items):
                there += f"; the labels under {HUMANS!r} are read without it"
            raise InputError(f"--annotators {name!r} is a field of no item; {hint}{there}")


def majority(labels: Iterable[Rewards | None]) -> Rewards | None:
    """The label that more people gave than any other; None where there is no such one."""
    ranked = Counter(label for label in labels if label is not None).most_common(2)
    return None if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]) else ranked[0][0]


def with_majority(item: Item, labels: Sequence[Rewards | None]) -> Item:
    """The item; what most people said is its gold, where it has none of its own."""
    return item if item.gold is not None or not labels else replace(item, gold=majority(labels))


def is_pandalm(row: Mapping[str, Any]) -> bool:
    """Whether a row is one of the PandaLM test set."""
    return all(name in row for name in _PANDALM)


def pandalm_items(records: Iterable[AnyRecord]) -> tuple[tuple[Item, ...], tuple[BadRecord, ...]]:
    """The pairs of the PandaLM test set, and the records that are none.

    Labels are 0 for a tie, 1 and 2 for the response that is better; authors are the two models of ``cmp_key``.
    """
    items: list[Item] = []
    bad: list[BadRecord] = []
    for record in records:
        if isinstance(record, BadRecord):
            bad.append(record)
            continue
        try:
            items.append(_pair(record.row, record.line))
        except (KeyError, TypeError) as error:
            bad.append(BadRecord(line=record.line, reason=f"no row of the PandaLM test set: {error!r:.120}"))
    return tuple(items), tuple(bad)


def _pair(row: Mapping[str, Any], line: int) -> Item:
    said = [_WON[row[name]] for name in _PANDALM[3:]]
    authors = str(row.get("cmp_key", "")).split("_")
    one, other = authors if len(authors) == 2 else (None, None)
    asked = f"{row['instruction']}\n\n{row['input']}" if row.get("input") else row["instruction"]
    item = Item(
        id=f"pandalm-{row.get('idx', line)}",
        messages=(Message(role="user", content=str(asked)),),
        candidates=(
            Candidate(text=str(row["response1"]), author=one),
            Candidate(text=str(row["response2"]), author=other),
        ),
        metadata={HUMANS: [list(label) for label in said]},
    )
    return with_majority(item, said)


def _read(item: Item, name: str, value: Any) -> Rewards:
    try:
        return read_gold(value, item.n)
    except ValueError as error:
        raise InputError(f"item {item.id!r}, human label {name!r}: {error}") from error
