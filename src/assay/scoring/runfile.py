"""The result file of a run over many items: resumes after kill -9, never holds a judgment twice.

While a run lasts, rows go to ``<out>.journal.jsonl``; at the end (also after Ctrl-C) everything becomes ``<out>``.
A later call with the same output goes on where this one stopped, if it is the same run (see ``RunHeader``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from assay.core.errors import InputError
from assay.core.types import Json

from .batch import Unit
from .journal import Journal, read_journal, read_sealed, seal
from .records import Row

Key = tuple[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What makes two runs the same run: rows of one can stand beside rows of the other."""

    judge: str
    model: str
    weight_version: str
    sampling: Mapping[str, Json]
    seed: int


class RunFile:
    """The rows of a run, on disk and in memory. Use as a context manager: leaving it seals the file.

    Raises:
        InputError: ``path`` holds another run, or something that is not a run of ours; the message says the way out.
        OutputError: the file cannot be written; the journal keeps what was judged.
    """

    def __init__(self, path: Path, header: RunHeader, *, fresh: bool = False, retry_failed: bool = False) -> None:
        self.path = path
        # As it will come back from the file, where tuples are lists.
        self._header: dict[str, Any] = json.loads(json.dumps({"assay_run": 1, **asdict(header)}))
        self._journal_path = path.with_name(path.name + ".journal.jsonl")
        if fresh:
            path.unlink(missing_ok=True)
            self._journal_path.unlink(missing_ok=True)
        self._rows = self._load()
        self._retry_failed = retry_failed
        self.resumed = len(self._rows)
        self._changed = self._journal_path.exists()
        self._journal = Journal(self._journal_path, self._header)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def has(self, unit: Unit) -> bool:
        """Whether this very content was judged for this item before."""
        row = self._rows.get(unit.key)
        if row is None or row["content_hash"] != unit.content_hash:
            return False
        return row["outcome"] == "verdict" or not self._retry_failed

    def append(self, row: Row) -> None:
        """Keep a row; it replaces an earlier one of the same item and candidate."""
        self._journal.append(row)
        self._rows[(row["item_id"], row["candidate"])] = row
        self._changed = True

    def close(self) -> None:
        """Write the journal out and turn everything into the Parquet file."""
        self._journal.close()
        if self._changed or not self.path.exists():
            seal(self._rows.values(), self.path, self._header)
        self._journal_path.unlink(missing_ok=True)

    def _load(self) -> dict[Key, Row]:
        rows: dict[Key, Row] = {}
        if self.path.exists():
            rows |= self._take(self.path, *_sealed(self.path))
        journal_header, journal_rows = read_journal(self._journal_path)
        if journal_header is not None:
            rows |= self._take(self._journal_path, journal_header, journal_rows)
        return rows

    def _take(self, path: Path, header: Mapping[str, Any] | None, rows: list[Row]) -> dict[Key, Row]:
        if header != self._header:
            raise InputError(
                f"{str(path)!r} holds {_difference(header, self._header)}. "
                "Name another output, or pass --fresh to start over."
            )
        return {(row["item_id"], row["candidate"]): row for row in rows}


def _sealed(path: Path) -> tuple[dict[str, Any] | None, list[Row]]:
    try:
        return read_sealed(path)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InputError(f"{str(path)!r} exists and is not a result file: {error}. Name another output.") from error


def _difference(theirs: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> str:
    if theirs is None or "assay_run" not in theirs:
        return "something that is not a run of Assay"
    changed = [f"{key} {theirs.get(key)!r} instead of {ours[key]!r}" for key in ours if theirs.get(key) != ours[key]]
    return "a different run: " + ", ".join(changed)
