"""The flight recorder of a service: every vote and every raw generation, in Parquet files of bounded size.

A folder holds ``judgments-…`` and ``generations-…`` files, and the journals of those that are being filled. A recorder
that cannot write (disk full) never stops the judging: it says so once in the log, in ``/health`` and in a counter.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa

from assay.core.errors import OutputError
from assay.data import COLUMNS, ResultRow, row_to_json

from .journal import Journal, load_writer, read_journal, seal
from .records import GENERATIONS

log = logging.getLogger(__name__)

T = TypeVar("T")

_JOURNAL = ".journal.jsonl"
_KINDS: Mapping[str, pa.Schema] = {"judgments": COLUMNS, "generations": GENERATIONS}


class Recorder:
    """Appends rows; seals a file every ``rows_per_file`` rows and at ``close``.

    ``dropped`` counts the rows that could not be written; ``error`` says why.

    Raises:
        OutputError: the folder cannot be written at all.
    """

    def __init__(self, folder: Path, *, rows_per_file: int = 50_000) -> None:
        self.folder = folder
        self.dropped = 0
        self.error: str | None = None
        # Sealing 50,000 rows takes about a second: in one thread, so that no request waits for it. What it needs is
        # loaded now, better than when the first file is full and requests run.
        self._sealing = ThreadPoolExecutor(1, thread_name_prefix="recorder seal")
        for columns in _KINDS.values():
            self._sealing.submit(load_writer, columns).result()
        _seal_leftovers(folder)
        self._judgments = _Stream(folder, "judgments", row_to_json, rows_per_file, self._drop, self._sealing)
        self._generations = _Stream(folder, "generations", _as_it_is, rows_per_file, self._drop, self._sealing)

    def append(self, row: ResultRow) -> None:
        """Record a vote; never blocks, never raises."""
        self._judgments.append(row)

    def append_generation(self, row: dict[str, Any]) -> None:
        """Record a raw generation (``records.generation_row``); never blocks, never raises."""
        self._generations.append(row)

    def close(self) -> None:
        """Write and seal what is left."""
        self._judgments.close()
        self._generations.close()
        self._sealing.shutdown()

    def _drop(self, error: OutputError) -> None:
        self.dropped += 1
        if self.error is None:
            self.error = str(error)
            log.error("the flight recorder stopped: %s", error)


class _Stream(Generic[T]):
    """Rows of one kind, in one file after the other."""

    def __init__(
        self,
        folder: Path,
        kind: str,
        encode: Callable[[T], Mapping[str, Any]],
        rows_per_file: int,
        drop: Callable[[OutputError], None],
        sealing: Executor,
    ) -> None:
        self._prefix = folder / f"{kind}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        self._encode = encode
        self._rows_per_file = rows_per_file
        self._drop = drop
        self._number = 0
        self._count = 0
        self._sealing = sealing
        self._journal = self._open()

    def append(self, row: T) -> None:
        try:
            self._journal.append(row)
        except OutputError as error:
            self._drop(error)
            return
        self._count += 1
        if self._count >= self._rows_per_file:
            self._rotate()

    def close(self) -> None:
        self._finish(self._journal)

    def _open(self) -> Journal[T]:
        self._number += 1
        path = self._prefix.with_name(f"{self._prefix.name}-{self._number:04d}{_JOURNAL}")
        return Journal(path, {"assay": "recorder", "started": time.time()}, self._encode)

    def _rotate(self) -> None:
        full, self._count = self._journal, 0
        try:
            self._journal = self._open()
        except OutputError as error:
            self._drop(error)
            return
        self._sealing.submit(self._finish, full).add_done_callback(_tell)

    def _finish(self, journal: Journal[T]) -> None:
        try:
            journal.close()
            _seal_journal(journal.path)
        except OutputError as error:
            self._drop(error)
        # Arrow keeps what it has freed; the next file is a long way off.
        pa.default_memory_pool().release_unused()


def _tell(sealed: Future[None]) -> None:
    if error := sealed.exception():
        log.error("a journal of the flight recorder was left unsealed", exc_info=error)


def _as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    return row


def _seal_leftovers(folder: Path) -> None:
    """Journals of a recorder that was killed; those of a process that still runs are left alone."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob(f"*{_JOURNAL}")):
        with contextlib.suppress(ValueError, IndexError):
            if _alive(int(path.name.split("-")[2])):
                continue
        try:
            _seal_journal(path)
        except OutputError as error:
            log.warning("left unsealed: %s", error)


def _seal_journal(path: Path) -> None:
    columns = _KINDS.get(path.name.split("-")[0])
    if columns is None:
        return
    header, rows = read_journal(path)
    first = next(rows, None)
    if first is not None:
        sealed = path.with_name(path.name.removesuffix(_JOURNAL) + ".parquet")
        seal((row for _, row in chain([first], rows)), sealed, header or {}, columns)
    path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()
