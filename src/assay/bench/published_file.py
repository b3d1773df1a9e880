"""Published tables out of a file: JSON (one table, or several by name) or CSV/TSV, as a person types them off a paper.

A row has a name, its subsets (an object ``subsets``, or the other columns that hold numbers) and their printed mean. Of
a JSON document, an entry ``<table>_avg_rank`` that gives numbers by row is taken for average ranks of that table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, cast

from assay.core.errors import InputError
from assay.data.formats import read_csv, read_tsv
from assay.data.records import BadRecord

from .published import Published, PublishedRanks, PublishedRow

NAMES = ("name", "model", "judge", "method")
MEANS = ("published_overall", "published_mean", "overall", "average", "avg", "avg.", "mean", "score")
"""Columns that hold the printed mean, by preference, in any case of letters."""
_OURS = ("mean_of_subsets", "abs_diff", "consistent_within_0.05")
"""What somebody computed beside the printed numbers is not a subset."""
_RANKS = "_avg_rank"


def read_published(path: Path) -> Published:
    """The tables of a file.

    Raises:
        InputError: it cannot be read, or no row with a mean is in it; the message says what a row needs.
    """
    suffix = path.suffix.lower()
    try:
        table = suffix in (".csv", ".tsv")
        entries = {path.stem: _cells(path, tabs=suffix == ".tsv")} if table else _entries(path)
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    tables: dict[str, Sequence[PublishedRow]] = {}
    ranks: dict[str, PublishedRanks] = {}
    other: list[str] = []
    for name, entry in entries.items():
        rows = _rows(entry)
        if rows:
            tables[name] = rows
        elif not name.endswith(_RANKS):
            other.append(name)
    for name, entry in entries.items():
        if name in tables or not name.endswith(_RANKS):
            continue
        about, said = _about(name, tables), _numbers(entry)
        if about is None or not said:
            other.append(name)
        else:
            ranks[name] = PublishedRanks(table=about, ranks=said)
    if not tables:
        raise InputError(
            f"{str(path)!r} holds no table: a row needs a name ({', '.join(NAMES)}), its subsets, and their printed "
            f"mean in a field {' or '.join(MEANS[:3])}"
        )
    return Published(tables=tables, ranks=ranks, other=tuple(other))


def _cells(path: Path, *, tabs: bool) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for record in read_tsv(path) if tabs else read_csv(path):
        if isinstance(record, BadRecord):
            raise InputError(f"{str(path)!r}, line {record.line}: {record.reason}")
        rows.append(record.row)
    return rows


def _entries(path: Path) -> Mapping[str, Any]:
    """The document's tables by name; numbers with the digits that they are written with."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal, parse_int=Decimal)
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not UTF-8: byte 0x{error.object[error.start]:02x}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is not a whole JSON document: {error}") from error
    if isinstance(document, dict):
        inner = cast("dict[str, Any]", document)
        tables = inner.get("tables", inner)
        return cast("dict[str, Any]", tables) if isinstance(tables, dict) else {path.stem: tables}
    return {path.stem: document}


def _rows(entry: Any) -> list[PublishedRow]:
    """The rows of a table; none if it has no row with a mean."""
    if not isinstance(entry, list):
        return []
    raw = [cast("Mapping[str, Any]", row) for row in cast("list[Any]", entry) if isinstance(row, Mapping)]
    # A column of numbers stays one where a cell of it is empty or is no number: such a row cannot be checked.
    numeric = {key for row in raw for key, value in _columns(row).items() if _number(value) is not None}
    rows = [made for row in raw if (made := _row(row, numeric)) is not None]
    return rows if any(row.mean is not None for row in rows) else []


def _row(row: Mapping[str, Any], numeric: Set[str]) -> PublishedRow | None:
    name, mean = _field(row, NAMES), _field(row, MEANS)
    if name is None or mean is None or not isinstance(row[name], str):
        return None
    subsets = {key: _number(value) for key, value in _columns(row).items() if key in numeric}
    return PublishedRow(name=row[name], subsets=subsets, mean=_number(row[mean])) if subsets else None


def _columns(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """All that may be subsets of a row."""
    inner = row.get("subsets")
    if isinstance(inner, Mapping):
        return cast("Mapping[str, Any]", inner)
    apart = (_field(row, NAMES), _field(row, MEANS), *_OURS)
    return {key: value for key, value in row.items() if key not in apart}


def _field(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The row's own spelling of the first of the names that it has."""
    by_case = {str(key).strip().casefold(): key for key in row}
    return next((by_case[name] for name in names if name in by_case), None)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool):
        return None
    try:
        number = Decimal(value.strip().removesuffix("%")) if isinstance(value, str) else value
    except InvalidOperation:
        return None
    return number if isinstance(number, Decimal) and number.is_finite() else None


def _numbers(entry: Any) -> dict[str, Decimal]:
    if not isinstance(entry, Mapping):
        return {}
    found = {str(key): _number(value) for key, value in cast("Mapping[Any, Any]", entry).items()}
    return {key: value for key, value in found.items() if value is not None} if None not in found.values() else {}


def _about(name: str, tables: Mapping[str, Sequence[PublishedRow]]) -> str | None:
    """The table that ranks are about: ``table2_avg_rank`` is about ``table2_main``."""
    stem = name.removesuffix(_RANKS)
    return next((table for table in tables if table == stem or table.startswith(f"{stem}_")), None)
