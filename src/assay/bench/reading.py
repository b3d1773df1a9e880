"""From the records of a benchmark's file to its units: what every benchmark does in the same way. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.types import Candidate, Item
from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord, BadRecord
from assay.data.rows import Need, RowError, to_item

from .benchmark import UnitsRead
from .unit import Unit

NEEDS: tuple[Need, ...] = ("candidates", "gold")


class LeftOut(Exception):
    """A record that the benchmark does not count; the text says why, in few words that can be counted."""


Build = Callable[[Mapping[str, Any], str], Sequence[Unit]]
"""A row and the id to fall back on -> its units. Raises RowError (a bad row) or LeftOut."""


def read_units(records: Iterable[AnyRecord], file: str, build: Build) -> UnitsRead:
    """All records of a file through ``build``; each that is no unit is bad, with its line, or left out and counted."""
    units: list[Unit] = []
    bad: list[BadRecord] = []
    left_out: Counter[str] = Counter()
    stem = file.rsplit("/", 1)[-1].split(".")[0] or "row"
    for record in records:
        if isinstance(record, BadRecord):
            bad.append(record)
            continue
        try:
            units += [replace(unit, line=record.line) for unit in build(record.row, f"{stem}-{record.line}")]
        except RowError as error:
            bad.append(BadRecord(line=record.line, reason=str(error)))
        except LeftOut as reason:
            left_out[str(reason)] += 1
    return UnitsRead(units=tuple(units), bad=tuple(bad), left_out=dict(left_out))


def item_of(row: Mapping[str, Any], fields: FieldMap, fallback: str, *authors: Any) -> Item:
    """The item of a row, with the models that wrote its candidates where the row names them.

    Raises:
        RowError: something needed is absent or of the wrong kind.
    """
    item = to_item(row, fields, fallback, need=NEEDS, cells=False)
    if not authors or len(authors) != item.n:
        return item
    named = [
        replace(candidate, author=author) if isinstance(author, str) else candidate
        for candidate, author in zip(item.candidates, authors, strict=True)
    ]
    return replace(item, candidates=tuple(named))


def pair_of(item: Item, better: int, worse: int, name: str) -> Item:
    """Two of an item's candidates as an item of their own, the better one first."""
    chosen: tuple[Candidate, ...] = (item.candidates[better], item.candidates[worse])
    return replace(item, id=name, candidates=chosen, gold=(1.0, 0.0))


def known_subset(name: object, known: Sequence[str], field: str = "subset") -> str:
    """The subset, if it is an official one.

    Raises:
        RowError: it is not; the nearest official one is named.
    """
    if isinstance(name, str) and name in known:
        return name
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    raise RowError(f"unknown {field} {name!r:.80}: {hint}")
