"""Preference items from wherever they are: a published set by its name, a copy of it, or any file or hub dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import InputError

from ..fieldmap import FieldMap
from ..hub import hub_records
from ..items import AnyItem, stream_items
from ..records import AnyRecord, BadRecord
from ..rows import RowError
from ..sources import open_source
from .published import SETS, PublishedSet


def preference_items(source: str, fields: FieldMap | None = None) -> Iterator[AnyItem]:
    """Items with gold, one after the other; a row that cannot become one is a ``BadRecord``.

    Args:
        source: ``helpsteer2``, a published set on the hub; ``helpsteer2=FILE``, a copy of it here; else a file or a hub
            dataset of the user's own: pairs (chosen, rejected), ratings, best-of-n, single answers with labels.
        fields: which field is what, for a source of the user's own.

    Raises:
        InputError: the source cannot be read; a published set is nowhere on the hub and no file is named.
    """
    name, equals, path = source.partition("=")
    known = SETS.get(name)
    if known is None or (equals and Path(source).exists()):
        return iter(stream_items(source, fields, need=("candidates", "gold")))
    if fields is not None and fields.used:
        raise InputError(f"the fields of the published set {name!r} are known; leave out {str(fields)!r}")
    if path:
        return _read(known, open_source(path).records)
    if not known.hub:
        raise InputError(f"the set {name!r} is not on the hub: fetch it ({known.about}) and say {name}=FILE")
    return _read(known, hub_records(known.hub, folder=known.folder))


def _read(known: PublishedSet, records: Iterator[AnyRecord]) -> Iterator[AnyItem]:
    for record in records:
        if isinstance(record, BadRecord):
            yield record
            continue
        try:
            yield known.read(record.row, str(record.line))
        except RowError as error:
            yield BadRecord(line=record.line, reason=str(error))
