"""``Record``: one row of a source with the line it stands on; ``BadRecord``: a row that could not be read, and why.

``RowError``: raised where a row is understood; whoever knows its line makes a ``BadRecord`` or an error of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


class RowError(ValueError):
    """This row cannot become what is asked for; the text names the field and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row. ``line`` counts from 1: lines of a text file, rows of a JSON list, of Parquet and of the hub."""

    line: int
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRecord:
    """A row that could not be read or understood, and why."""

    line: int
    reason: str


AnyRecord: TypeAlias = "Record | BadRecord"
