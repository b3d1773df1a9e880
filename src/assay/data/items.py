"""Items out of any source: its shape is found or mapped, and every row becomes an item or a fault with a name.

Nothing is lost in silence: a row that cannot become an item comes out in its place as a ``BadRecord`` with its line,
and a second item of the same id is renamed ``<id>~2``, so that results can be told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

from assay.core.errors import InputError
from assay.core.types import Item

from .fieldmap import FieldMap
from .lookup import closest, find, paths
from .records import AnyRecord, BadRecord, Record
from .rows import Need, RowError, to_item
from .shapes import detect
from .sources import Source, open_source

HEAD = 64
"""So many records are looked at to find the shape, and to tell a wrong field from one that a row lacks."""

SHOWN = 30
"""So many field names are listed in an error."""

AnyItem: TypeAlias = "Item | BadRecord"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStream:
    """Items of one source, to be walked once.

    ``shape`` and ``fields`` say how its rows are understood. ``renamed`` grows while the items are walked: the new ids
    of items whose own id was taken by an earlier one.
    """

    name: str
    shape: str
    fields: FieldMap
    items: Iterator[AnyItem]
    renamed: list[str]

    def __iter__(self) -> Iterator[AnyItem]:
        return self.items


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """All items of one source, the rows that are none, and the new ids of items whose own was taken."""

    name: str
    shape: str
    fields: FieldMap
    items: tuple[Item, ...]
    bad: tuple[BadRecord, ...]
    renamed: tuple[str, ...]


def stream_items(
    source: str | Path, fields: FieldMap | None = None, *, need: Collection[Need] = ("candidates",)
) -> ItemStream:
    """Open ``source`` and understand its rows.

    Args:
        source: a file or a hub dataset, as ``open_source`` takes it.
        fields: what the user said of the fields; the rest comes from the detected shape.
        need: what every item must have. A source without any of it is an error, a row without it a ``BadRecord``.

    Raises:
        InputError: the source cannot be read; a named field is in no row; no shape fits; something needed has no field.
    """
    opened = open_source(source)
    head = list(islice(opened.records, HEAD))
    rows = [record for record in head if isinstance(record, Record)]
    if not rows:
        raise InputError(f"no row of {opened.name!r} can be read{_first_fault(head)}")
    given = fields or FieldMap()
    _check_fields(given, rows, opened.name)
    found = next((shape for record in rows if (shape := detect(record.row))), None)
    merged = given.over(_filled(found.fields, rows)) if found else given
    _check_needs(merged, need, rows, opened.name)
    renamed: list[str] = []
    return ItemStream(
        name=opened.name,
        shape=found.name if found else "mapped",
        fields=merged,
        items=_items(opened, chain(head, opened.records), merged, need, renamed),
        renamed=renamed,
    )


def _filled(fields: FieldMap, rows: Sequence[Record]) -> FieldMap:
    """``fields`` with reference and gold as later rows of the same shape have them, where the first one has none."""
    for record in rows:
        if fields.reference and (fields.gold or fields.chosen):
            break
        shape = detect(record.row)
        if shape is None or (shape.fields.prompt, shape.fields.candidates) != (fields.prompt, fields.candidates):
            continue
        if not fields.reference and shape.fields.reference:
            more = {"reference": shape.fields.reference, "reference_after": shape.fields.reference_after}
            fields = fields.model_copy(update=more)
        if not fields.gold and not fields.chosen and shape.fields.gold:
            fields = fields.model_copy(update={"gold": shape.fields.gold})
    return fields


def load_items(
    source: str | Path, fields: FieldMap | None = None, *, need: Collection[Need] = ("candidates",)
) -> Items:
    """All of ``stream_items`` at once.

    Raises:
        InputError: as there; and when no row at all becomes an item, with the first reason.
    """
    stream = stream_items(source, fields, need=need)
    found = list(stream)
    items = tuple(item for item in found if isinstance(item, Item))
    bad = tuple(record for record in found if isinstance(record, BadRecord))
    if not items:
        raise InputError(f"no row of {stream.name!r} becomes an item{_first_fault(bad)}")
    return Items(
        name=stream.name,
        shape=stream.shape,
        fields=stream.fields,
        items=items,
        bad=bad,
        renamed=tuple(stream.renamed),
    )


def _items(
    source: Source, records: Iterator[AnyRecord], fields: FieldMap, need: Collection[Need], renamed: list[str]
) -> Iterator[AnyItem]:
    seen: dict[str, int] = {}
    for record in records:
        if isinstance(record, BadRecord):
            yield record
            continue
        try:
            item = to_item(record.row, fields, f"{source.stem}-{record.line}", need=need, cells=source.cells)
        except RowError as error:
            yield BadRecord(line=record.line, reason=str(error))
            continue
        name = _unique(item.id, seen)
        if name != item.id:
            renamed.append(name)
            item = replace(item, id=name)
        yield item


def _unique(name: str, seen: dict[str, int]) -> str:
    """``name``, or ``name~2``, ``name~3``, ... for a name that was there before; follows from the order of the rows."""
    found = name
    while found in seen:
        seen[name] += 1
        found = f"{name}~{seen[name]}"
    seen[found] = 1
    return found


def _check_fields(given: FieldMap, rows: Sequence[Record], name: str) -> None:
    for path in given.used:
        if any(find(record.row, path) is not None for record in rows):
            continue
        known = list(dict.fromkeys(known for record in rows for known in paths(record.row)))
        near = closest(path, known)
        hint = f"did you mean {near!r}? " if near else ""
        shown = ", ".join(known[:SHOWN]) + (f" and {len(known) - SHOWN} more" if len(known) > SHOWN else "")
        raise InputError(f"no field {path!r} in {name!r}: {hint}its fields are {shown}")


def _check_needs(fields: FieldMap, need: Collection[Need], rows: Sequence[Record], name: str) -> None:
    lacking = [
        what
        for what, there in (
            ("prompt", fields.prompt or fields.chosen),
            ("candidates", fields.candidates or fields.chosen or "candidates" not in need),
            ("reference", fields.reference or "reference" not in need),
            ("gold", fields.gold or fields.chosen or "gold" not in need),
        )
        if not there
    ]
    if lacking:
        known = list(dict.fromkeys(known for record in rows for known in paths(record.row)))
        fix = " ".join(f"{what}=<field>" for what in lacking)
        raise InputError(
            f"{name!r} has no field that is known to be the {' or the '.join(lacking)}: say {fix}; "
            f"its fields are {', '.join(known[:SHOWN])}"
        )


def _first_fault(records: Sequence[AnyRecord | AnyItem]) -> str:
    fault = next((record for record in records if isinstance(record, BadRecord)), None)
    return f": line {fault.line}: {fault.reason}" if fault else ": there is none in it"
