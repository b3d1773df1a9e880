"""An append-only file of JSON lines that survives kill -9, and its sealing into Parquet.

A Parquet file has its index at the end, so a killed writer leaves nothing readable. The journal is written as
judgments end (by a thread of its own: the event loop never waits for a disk) and sealed into Parquet once, atomically.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from assay.core.files import cannot_write, whole, write_all

T = TypeVar("T")
_FIX = "what was written before is kept; free some space or choose another place, then run the same command again"
_BATCH = 512
_PAUSE_S = 0.02
_ROWS_PER_BATCH = 250
"""Rows that are Python objects at a time while a file is sealed: thousands of them leave the heap in pieces."""
_ROWS_PER_GROUP = 5_000
_BYTES_PER_GROUP = 8 << 20


class Journal(Generic[T]):
    """Rows to a file of JSON lines, in the order given. The first line is a header that says what the run is.

    ``encode`` makes the JSON-able form of a row, in the writing thread. ``append`` never blocks. After a write has
    failed (disk full), ``append`` and ``close`` raise OutputError; what was written before stays in the file.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], encode: Callable[[T], Mapping[str, Any]]) -> None:
        self.path = path
        self.error: OSError | None = None
        self._encode = encode
        self._queue: queue.SimpleQueue[T | threading.Event | None] = queue.SimpleQueue()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _mend_last_line(path)
            self._file = path.open("ab", buffering=0)
            if path.stat().st_size == 0:
                self._file.write(_line(header))
        except OSError as error:
            raise cannot_write(path, error, fix=_FIX) from error
        self._thread = threading.Thread(target=self._run, name=f"journal {path.name}", daemon=True)
        self._thread.start()

    def append(self, row: T) -> None:
        self.check()
        self._queue.put(row)

    def check(self) -> None:
        """Raise OutputError if a write has failed."""
        if self.error is not None:
            raise cannot_write(self.path, self.error, fix=_FIX) from self.error

    def flush(self) -> None:
        """Wait until everything appended so far is in the file."""
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        self.check()

    def close(self) -> None:
        """Write what is left and close; raises OutputError if not everything could be written."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        with contextlib.suppress(OSError):
            self._file.close()
        self.check()

    def _run(self) -> None:
        closing = False
        while not closing:
            batch, events, closing = self._take()
            if not (events or closing):
                # A thread that wakes for every row takes the interpreter from the event loop each time.
                time.sleep(_PAUSE_S)
            if batch and self.error is None:
                try:
                    write_all(self._file.fileno(), b"".join(batch))
                except OSError as error:
                    self.error = error
            for event in events:
                event.set()

    def _take(self) -> tuple[list[bytes], list[threading.Event], bool]:
        """Wait for one entry, then take what else is there, up to a batch."""
        lines: list[bytes] = []
        events: list[threading.Event] = []
        entry = self._queue.get()
        while True:
            if entry is None:
                return lines, events, True
            if isinstance(entry, threading.Event):
                events.append(entry)
            else:
                lines.append(_line(self._encode(entry)))
            if len(lines) >= _BATCH:
                return lines, events, False
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                return lines, events, False


def read_journal(path: Path) -> tuple[dict[str, Any] | None, Iterator[tuple[int, dict[str, Any]]]]:
    """The header, and the rows with the offset of each; a last line cut off by a kill is left out.

    The header is None when there is no journal.
    """
    lines = _whole_lines(path)
    first = next(lines, None)
    return (None if first is None else json.loads(first[1])), ((offset, json.loads(line)) for offset, line in lines)


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.exists():
        return
    offset = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield offset, line
            offset += len(line)


def read_at(path: Path, offsets: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The rows of a journal at these offsets, in the order given."""
    with path.open("rb") as file:
        for offset in offsets:
            file.seek(offset)
            yield json.loads(file.readline())


def load_writer(columns: pa.Schema) -> None:  # pyright: ignore[reportUnknownParameterType]
    """Have what sealing loads on first use loaded now: about 60 MB and a second, Arrow's part of pandas included."""
    _write([dict.fromkeys(columns.names)], pa.BufferOutputStream(), columns)


def seal(rows: Iterable[Mapping[str, Any]], path: Path, header: Mapping[str, Any], columns: pa.Schema) -> None:  # pyright: ignore[reportUnknownParameterType]
    """Write rows as one Parquet file, atomically; the header goes into its metadata. Raises OutputError."""
    schema = columns.with_metadata({b"assay": json.dumps(dict(header)).encode()})
    with whole(path, durable=True, fix=_FIX) as partial:
        _write(rows, partial, schema)


def read_header(path: Path) -> dict[str, Any] | None:
    """The header of a sealed file; None for a Parquet file that is not ours."""
    raw = (pq.read_schema(path).metadata or {}).get(b"assay")
    return None if raw is None else json.loads(raw)


def read_sealed(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a sealed file, a group at a time."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_ROWS_PER_GROUP):
            yield from batch.to_pylist()


def _write(rows: Iterable[Mapping[str, Any]], where: Path | pa.BufferOutputStream, schema: pa.Schema) -> None:  # pyright: ignore[reportUnknownParameterType]
    with pq.ParquetWriter(where, schema, compression="zstd") as writer:
        for group in _groups(rows, schema):
            writer.write_table(group)


def _groups(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Iterator[pa.Table]:  # pyright: ignore[reportUnknownParameterType]
    """Tables of a row group each, put together out of small batches; none where there are no rows."""
    batches: list[pa.RecordBatch] = []
    left = iter(rows)
    while some := [_storable_row(row) for row in islice(left, _ROWS_PER_BATCH)]:
        batches.append(pa.RecordBatch.from_pylist(some, schema=schema))
        full = sum(batch.num_rows for batch in batches) >= _ROWS_PER_GROUP
        if full or sum(batch.nbytes for batch in batches) >= _BYTES_PER_GROUP:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


def _storable_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _storable(value) for key, value in row.items()}


def _storable(value: Any) -> Any:
    """Parquet text is UTF-8, which has no lone surrogates (a judge can emit half an emoji): written out as escapes."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return [_storable(part) for part in value] if isinstance(value, list) else value


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"


def _mend_last_line(path: Path) -> None:
    """Cut off a last line that a kill left half written, so that the next row starts on a line of its own."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        os.truncate(path, data.rfind(b"\n") + 1)
