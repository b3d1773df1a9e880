"""Finding a source and opening it: a file of a known format, or a hub dataset.

Owns: telling paths, formats and hub names apart, and what is said when there is nothing to read. Does not own: how a
format is read (``formats``, ``hub``) or what a row means (``rows``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from assay.core.errors import InputError

from .formats import READERS, JsonLines, jsonl_parts
from .hub import hub_records
from .records import AnyRecord

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
HUB_PREFIX = "hub:"
PART_ROWS = 512

Part: TypeAlias = "JsonLines | list[AnyRecord]"
"""Some rows of a source that go to another process together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An opened source: what it is called, and its rows (to be walked once)."""

    name: str
    stem: str
    """The short name that rows without an id are called after."""
    format: str
    records: Iterator[AnyRecord]

    @property
    def cells(self) -> bool:
        """Values are text cells, so a list can only stand there as JSON text."""
        return self.format in ("csv", "tsv")


def open_source(source: str | Path) -> Source:
    """Open a JSONL, JSON, CSV, TSV or Parquet file, or a hub dataset (``hub:owner/name[@revision][:[config:]split]``).

    A name with one slash that is no path on this machine is taken for a hub dataset.

    Raises:
        InputError: no such file, a directory, an empty file, an unknown format, no such dataset. Text that is not UTF-8
            and a broken JSON document raise it while the rows are walked.
    """
    text = str(source)
    if text.startswith(HUB_PREFIX) or _looks_like_hub(text):
        name = text.removeprefix(HUB_PREFIX)
        return Source(name=name, stem=name.split(":")[0].replace("/", "-"), format="hub", records=hub_records(name))
    if not text:
        raise InputError("'' names no file: give a file or a hub dataset")
    path = Path(text).expanduser()
    _check_file(path)
    kind = _format_of(path)
    return Source(name=text, stem=path.name.split(".")[0] or path.name, format=kind, records=READERS[kind](path))


def open_parts(source: str | Path) -> Iterator[Part]:
    """The rows of a source in parts, in order, for several processes. Lines of JSONL are parsed by those who walk them.

    Raises:
        InputError: as ``open_source``, when the first part is asked for.
    """
    opened = open_source(source)
    if opened.format == "jsonl":
        yield from jsonl_parts(Path(opened.name).expanduser())
        return
    while part := list(islice(opened.records, PART_ROWS)):
        yield part


def _looks_like_hub(text: str) -> bool:
    path = Path(text).expanduser()
    name = text.split(":")[0]
    if path.exists() or name.count("/") != 1 or name.startswith(("/", ".", "~")) or name.endswith("/"):
        return False
    return Path(name).suffix.lower() not in FORMATS and not path.parent.is_dir()


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            inside = sorted(p.name for p in path.iterdir() if p.suffix.lower() in FORMATS)
            hint = f"name a file in it, such as {str(path / inside[0])!r}" if inside else "it holds no data file"
            raise InputError(f"{str(path)!r} is a directory: {hint}")
        if not path.exists():
            raise InputError(f"no such file: {str(path)!r}{_did_you_mean(path)}")
        if path.stat().st_size == 0:
            raise InputError(f"{str(path)!r} is empty: it must hold at least one row")
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _did_you_mean(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {str(folder)!r} either"
    near = difflib.get_close_matches(path.name, sorted(p.name for p in folder.iterdir()), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(str(folder / name)) for name in near)}?" if near else ""


def _format_of(path: Path) -> str:
    known = FORMATS.get(path.suffix.lower())
    if known:
        return known
    with path.open("rb") as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[:1] in (b"[", b"{"):
        return "json"
    raise InputError(f"{str(path)!r} has no format that is read here: give one of {', '.join(FORMATS)}")
