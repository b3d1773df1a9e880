"""The records of a benchmark as units: out of the hub, a file, a folder in the official layout, or a zip archive.

Nothing is lost in silence. A record that is no unit is a fault with its file and line; so is one that repeats an
earlier record (same id, same content). A record that takes another one's id is renamed ``<id>~2``. Files of a folder
that are not the benchmark's are named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.data.archives import SUFFIX, WrongPasswordError, archived_files, archived_records
from assay.data.canonical import item_to_row
from assay.data.hub import hub_commit
from assay.data.records import AnyRecord
from assay.data.sources import FORMATS, HUB_PREFIX, open_source

from .benchmark import Benchmark, Source
from .unit import Unit

Revision = str | Mapping[str, str] | None
"""A branch, a tag or a commit of all hub datasets, or of each by its name."""
_COMMIT = re.compile(r"[0-9a-f]{40}")

File = tuple[str, Iterable[AnyRecord]]
"""A file's name below the source, and its records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFault:
    """A record that counts for nothing, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The units of a benchmark, and all that is not among them."""

    benchmark: Benchmark
    source: str
    revisions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Hub dataset -> the commit that was read."""
    unpinned: tuple[str, ...] = ()
    """Hub datasets that were read as they are today: neither we nor the user named a revision."""
    files: tuple[str, ...]
    unread: tuple[str, ...]
    """Data files of a folder or archive that are none of the benchmark's."""
    units: tuple[Unit, ...]
    faults: tuple[FileFault, ...]
    left_out: Mapping[str, int]
    """Records that the benchmark itself does not count, by reason."""
    renamed: tuple[str, ...]
    missing: tuple[str, ...]
    """Official subsets of which there is no unit."""
    unofficial: tuple[str, ...]
    """Subsets that are not official ones, where there are official ones."""


def load_benchmark(
    benchmark: Benchmark,
    source: str | Path | None = None,
    *,
    revision: Revision = None,
    password: str | None = None,
) -> Loaded:
    """Read all units.

    Args:
        source: a data file, a folder, a zip archive, or ``hub:...``; None = the benchmark's own hub datasets.
        revision: of the hub datasets, instead of the pinned one; a mapping gives each dataset its own.
        password: of the archive, instead of the official one.

    Raises:
        InputError: the source cannot be read, holds none of the benchmark's files, or not a single unit.
    """
    revisions: dict[str, str] = {}
    unread: list[str] = []
    files = _files(benchmark, source, revision, password, revisions, unread)
    read = _read(benchmark, files)
    name = "hub" if source is None else str(source)
    if not read.units:
        told = [*map(str, read.faults[:1]), *(f"{count} left out: {why}" for why, count in read.left_out.items())]
        first = f": {'; '.join(told)}" if told else ""
        raise InputError(f"{name!r} holds no unit of {benchmark.name!r}{first}")
    present = {unit.subset for unit in read.units}
    return Loaded(
        benchmark=benchmark,
        source=name,
        revisions=revisions,
        unpinned=_unpinned(benchmark, revision) if source is None else (),
        files=tuple(read.files),
        unread=tuple(unread),
        units=tuple(read.units),
        faults=tuple(read.faults),
        left_out=dict(read.left_out),
        renamed=tuple(read.renamed),
        missing=tuple(subset for subset in benchmark.subsets if subset not in present),
        unofficial=tuple(sorted(present - set(benchmark.subsets))) if benchmark.subsets else (),
    )


@dataclass(slots=True)
class _Read:
    files: list[str] = field(default_factory=list[str])
    units: list[Unit] = field(default_factory=list[Unit])
    faults: list[FileFault] = field(default_factory=list[FileFault])
    left_out: Counter[str] = field(default_factory=Counter[str])
    renamed: list[str] = field(default_factory=list[str])
    seen: dict[str, tuple[str, str, int]] = field(default_factory=dict[str, tuple[str, str, int]])
    """Id of a unit -> the hash of its content, and where it stood."""


def _read(benchmark: Benchmark, files: Iterable[File]) -> _Read:
    read = _Read()
    for name, records in files:
        read.files.append(name)
        found = benchmark.units(records, name)
        # What was wrong is said; the text that was there instead is not, where it must stay out of the open.
        told = [bad.reason.split(", not ")[0] if benchmark.private_text else bad.reason for bad in found.bad]
        read.faults += [
            FileFault(file=name, line=bad.line, reason=reason) for bad, reason in zip(found.bad, told, strict=True)
        ]
        read.left_out.update(found.left_out)
        for line, units in groupby(found.units, key=lambda unit: unit.line):
            _add(read, name, line, list(units))
    read.faults.sort(key=lambda fault: (read.files.index(fault.file), fault.line))
    return read


def _add(read: _Read, file: str, line: int, units: Sequence[Unit]) -> None:
    """The units of one record, unless it was there before."""
    known = [read.seen.get(unit.item.id) for unit in units]
    hashes = [digest(item_to_row(unit.item)) for unit in units]
    if any(known):
        first = next(one for one in known if one is not None)
        if [one and one[0] for one in known] == hashes:
            reason = f"the same record as {first[1]}, line {first[2]}: it counts once"
            read.faults.append(FileFault(file=file, line=line, reason=reason))
            return
        units = _renamed(units, read)
        read.renamed += [unit.item.id for unit in units]
    for unit, content in zip(units, hashes, strict=True):
        read.seen[unit.item.id] = (content, file, line)
    read.units += units


def _renamed(units: Sequence[Unit], read: _Read) -> list[Unit]:
    number = 2
    while any(f"{unit.item.id}~{number}" in read.seen for unit in units):
        number += 1
    return [
        replace(unit, item=replace(unit.item, id=f"{unit.item.id}~{number}"), case=f"{unit.case}~{number}")
        for unit in units
    ]


def _files(
    benchmark: Benchmark,
    source: str | Path | None,
    revision: Revision,
    password: str | None,
    revisions: dict[str, str],
    unread: list[str],
) -> Iterator[File]:
    if source is None:
        yield from _hub_files(benchmark, revision, revisions)
        return
    path = _archive_in(Path(source).expanduser())
    if path.is_dir():
        names = sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.suffix.lower() in FORMATS and p.is_file())
        for name in _chosen(benchmark, str(path), names, unread):
            yield name, open_source(path / name).records
    elif path.suffix.lower() == SUFFIX and path.exists():
        for name in _chosen(benchmark, str(path), archived_files(path), unread, archive=True):
            yield name, _unlocked(benchmark, path, name, password)
    else:
        opened = open_source(_at_its_commit(str(source), revision, revisions))
        yield (opened.stem if opened.format == "hub" else path.name), opened.records


def _unlocked(benchmark: Benchmark, path: Path, name: str, password: str | None) -> Iterator[AnyRecord]:
    """Records of a file in an archive. Raises InputError: as ``archived_records``; says which password it was."""
    try:
        yield from archived_records(path, name, password or benchmark.password)
    except WrongPasswordError as error:
        told = "say its own with --password"
        if password is not None:
            told = "look at --password" + (", or leave it out: there is an official one" if benchmark.password else "")
        raise InputError(f"{error}: {told}") from error


def _archive_in(path: Path) -> Path:
    """The archive in a folder that holds nothing else to read; else the path as it is."""
    if not path.is_dir() or any(p.suffix.lower() in FORMATS for p in path.rglob("*")):
        return path
    archives = sorted(p for p in path.iterdir() if p.suffix.lower() == SUFFIX)
    return archives[0] if len(archives) == 1 else path


def _hub_files(benchmark: Benchmark, revision: Revision, revisions: dict[str, str]) -> Iterator[File]:
    if not benchmark.sources:
        raise InputError(f"{benchmark.name!r} has no hub dataset: name a file or folder that holds it")
    for own in benchmark.sources:
        at = _commit(own.hub, _named(revision, own.hub) or own.revision)
        revisions[own.hub] = at
        yield own.file or own.hub.rsplit("/", 1)[-1], open_source(hub_name(own, at)).records


def _named(revision: Revision, hub: str) -> str | None:
    return revision.get(hub) if isinstance(revision, Mapping) else revision


def _unpinned(benchmark: Benchmark, revision: Revision) -> tuple[str, ...]:
    return tuple(own.hub for own in benchmark.sources if not (_named(revision, own.hub) or own.revision))


def _commit(hub: str, revision: str | None) -> str:
    """The commit that a revision (a branch, a tag, None = the main branch) stands for now; a commit is itself."""
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    return hub_commit(hub if revision is None else f"{hub}@{revision}")


def _at_its_commit(source: str, revision: Revision, revisions: dict[str, str]) -> str:
    """A ``hub:`` source with the commit that it stands for, which goes into ``revisions``; another one as it is.

    Raises:
        InputError: it names another revision than ``revision``.
    """
    if not source.startswith(HUB_PREFIX):
        return source
    name, *parts = source.removeprefix(HUB_PREFIX).split(":")
    hub, _, named = name.partition("@")
    asked = _named(revision, hub)
    if named and asked and named != asked:
        raise InputError(f"{source!r} names the revision {named!r}, and --revision {asked!r}: leave one of them out")
    revisions[hub] = _commit(hub, named or asked)
    return ":".join((f"{HUB_PREFIX}{hub}@{revisions[hub]}", *parts))


def hub_name(source: Source, revision: str) -> str:
    """The hub dataset as ``open_source`` takes it."""
    parts = [part for part in (source.config, source.split) if part]
    return f"{HUB_PREFIX}{source.hub}@{revision}" + "".join(f":{part}" for part in parts)


def _chosen(
    benchmark: Benchmark, source: str, names: Sequence[str], unread: list[str], *, archive: bool = False
) -> list[str]:
    """The benchmark's files; all where it does not say which, and the only one of an archive, whatever its name."""
    if not names:
        raise InputError(f"{source!r} holds no data file ({', '.join(FORMATS)})")
    chosen = [n for n in names if not benchmark.files or any(fnmatchcase(n, p) for p in benchmark.files)]
    if not chosen and archive and len(names) == 1:
        # A file beside the archive could be named itself; one within it cannot.
        return [*names]
    if not chosen:
        fix = "give those that are its these names" if archive else "name the file itself if it is one of its"
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise InputError(
            f"{source!r} holds no file of {benchmark.name!r} ({', '.join(benchmark.files)}), but {shown}: {fix}"
        )
    unread += [name for name in names if name not in chosen]
    return chosen
