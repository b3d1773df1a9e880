"""The readers of the file formats: path in, records out, each record as soon as it is read.

A broken line of JSONL is one ``BadRecord``, and so are a row with a text that is no Unicode and a CSV row with too many
or too few cells. A JSON document and a Parquet file are whole or broken: they raise ``InputError``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any, Literal, Protocol, cast

from assay.core.errors import InputError

from .records import AnyRecord, BadRecord, Record
from .unpaired import may_be_unpaired, unpaired

BOM = b"\xef\xbb\xbf"


class Readable(Protocol):
    """A file on the disk, or within an archive (``archives``): what a text format needs of it, and its name."""

    def open(self, mode: Literal["rb"]) -> IO[bytes]: ...

    def read_bytes(self) -> bytes: ...


PART_BYTES = 1 << 18
"""Of a JSONL file, what ``jsonl_parts`` takes at a time; a longer line is a part by itself."""

WRAPPERS = ("data", "rows")
"""Keys under which a JSON document may keep its list of rows."""


def read_jsonl(path: Readable) -> Iterator[AnyRecord]:
    """One JSON object a line; blank lines are skipped and still counted."""
    for line, text in _lines(path):
        if text.strip():
            yield _json_line(line, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """Some lines of a JSONL file as bytes that nobody has looked at: another process may do that.

    ``line`` and ``offset``: of the first of them, in the file ``name``.
    """

    name: str
    line: int
    offset: int
    lines: list[bytes]

    def records(self) -> Iterator[AnyRecord]:
        """What ``read_jsonl`` gives for these lines. Raises InputError: they are not UTF-8."""
        for line, text in _texts(self.name, self.lines, self.line, self.offset):
            if text.strip():
                yield _json_line(line, text)


def jsonl_parts(path: Readable) -> Iterator[JsonLines]:
    """All lines of a JSONL file, in order."""
    line, offset = 1, 0
    with path.open("rb") as file:
        while lines := file.readlines(PART_BYTES):
            yield JsonLines(name=str(path), line=line, offset=offset, lines=lines)
            line, offset = line + len(lines), offset + sum(map(len, lines))


def read_json(path: Readable) -> Iterator[AnyRecord]:
    """A list of objects, ``{"data": [...]}``, or one object. A ``.json`` that really is JSONL is read as such."""
    raw = path.read_bytes()
    text = _decode(str(path), raw.removeprefix(BOM), len(raw) - len(raw.removeprefix(BOM)))
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1:
            yield from read_jsonl(path)
            return
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{str(path)!r} is not one whole JSON document: {error.msg} at {where}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} cannot be read as JSON: {error}") from error
    suspect = may_be_unpaired(text)
    for line, row in enumerate(_rows_of(document), 1):
        yield _json_row(line, row, suspect=suspect)


def read_csv(path: Readable, delimiter: str = ",") -> Iterator[AnyRecord]:
    """A table with a header line; every cell is text. ``line`` is the line that the row starts on."""
    # The default limit of 128 KiB a cell is below a long answer.
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader((text for _, text in _lines(path)), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRecord(line=line, reason=f"broken CSV: {error} (is a quote left open?)")
            continue
        if not cells:
            continue
        if header is None:
            header = cells
            if len(set(header)) != len(header):
                raise InputError(f"{str(path)!r} names a column twice in its header: {header!r}")
        elif len(cells) != len(header):
            yield BadRecord(line=line, reason=f"the row has {len(cells)} cells, the header has {len(header)}")
        else:
            yield Record(line=line, row=dict(zip(header, cells, strict=True)))


def read_tsv(path: Readable) -> Iterator[AnyRecord]:
    """As ``read_csv``, with tabs."""
    return read_csv(path, delimiter="\t")


def read_parquet(path: Path) -> Iterator[AnyRecord]:
    """Rows of a Parquet file, in batches, so that a large one is never whole in memory."""
    # Imported here: pyarrow takes a quarter of a second, and the other formats do without it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = count(1)
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=512):
                for row in cast("list[dict[str, Any]]", batch.to_pylist()):
                    yield Record(line=next(number), row=row)
    except pa.ArrowException as error:
        raise InputError(f"{str(path)!r} is not a readable Parquet file: {error}") from error


TEXT_READERS: dict[str, Callable[[Readable], Iterator[AnyRecord]]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "tsv": read_tsv,
}
READERS: dict[str, Callable[[Path], Iterator[AnyRecord]]] = {**TEXT_READERS, "parquet": read_parquet}


def _lines(path: Readable) -> Iterator[tuple[int, str]]:
    """Lines with their number from 1, split at newlines only (JSON may hold U+2028), a leading BOM taken off."""
    with path.open("rb") as file:
        yield from _texts(str(path), file, 1, 0)


def _texts(name: str, lines: Iterable[bytes], first: int, offset: int) -> Iterator[tuple[int, str]]:
    for line, raw in enumerate(lines, first):
        body = raw.removeprefix(BOM) if line == 1 else raw
        yield line, _decode(name, body, offset + len(raw) - len(body))
        offset += len(raw)


def _decode(name: str, raw: bytes, offset: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        at = offset + error.start
        utf16 = offset == 0 and raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        guess = "utf-16" if utf16 else "gb18030 or latin-1 (whichever it is)"
        fix = f"convert it with `iconv -f {guess} -t utf-8`"
        byte = raw[error.start]
        raise InputError(f"{name!r} is not UTF-8: byte 0x{byte:02x} at offset {at}; {fix}") from error


def _json_line(line: int, text: str) -> AnyRecord:
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        return BadRecord(line=line, reason=f"broken JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return BadRecord(line=line, reason=f"broken JSON: {error}")
    return _json_row(line, row, suspect=may_be_unpaired(text))


def _json_row(line: int, row: Any, *, suspect: bool) -> AnyRecord:
    """``suspect``: its JSON text may hold half of a surrogate pair."""
    if not isinstance(row, Mapping):
        return BadRecord(line=line, reason=f"a row must be a JSON object, not {_kind(row)}")
    broken = unpaired(row) if suspect else None
    if broken is not None:
        return BadRecord(line=line, reason=broken)
    return Record(line=line, row=cast("Mapping[str, Any]", row))


def _rows_of(document: Any) -> list[Any]:
    if isinstance(document, list):
        return cast("list[Any]", document)
    if isinstance(document, dict):
        for key in WRAPPERS:
            inner = cast("dict[str, Any]", document).get(key)
            if isinstance(inner, list):
                return cast("list[Any]", inner)
    return [document]


def _kind(value: object) -> str:
    names = {"list": "a list", "str": "a string", "int": "a number", "float": "a number", "bool": "a boolean"}
    return "null" if value is None else names.get(type(value).__name__, type(value).__name__)
