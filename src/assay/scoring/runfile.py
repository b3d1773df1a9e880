"""The result file of a run over many items: resumes after kill -9, holds no vote twice, in the order of the input.

While a run lasts, rows go to ``<out>.journal.jsonl``; at the end (also after Ctrl-C) everything becomes ``<out>``. A
later call with the same output goes on where this one stopped, if it is the same run (see ``RunHeader``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from assay.core.errors import InputError
from assay.core.lock import Lock
from assay.core.types import Json
from assay.data import COLUMNS, VERDICT, ResultRow, row_to_json

from .journal import Journal, read_at, read_header, read_journal, read_sealed, seal

Subject = tuple[str, int | None]
"""Item and candidate: what one judgment is about, with however many votes."""
Key = tuple[str, int | None, int]
"""Item, candidate, vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What makes two runs the same run: rows of one can stand beside rows of the other."""

    judge: str
    model: str
    weight_version: str
    sampling: Mapping[str, Json]
    reask: int | None
    seed: int
    voting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    meta: str = ""


@dataclass(slots=True)
class _Known:
    """What is there of a judgment: it is whole when all votes that were drawn are."""

    content_hash: str
    drawn: int
    ok: bool
    votes: set[int]


class RunFile:
    """The votes of a run. Use as a context manager: leaving it seals the file. In memory are only keys and outcomes.

    Raises:
        InputError: ``path`` holds another run, or something that is not a run of ours; the message says the way out.
        OutputError: the file cannot be written; the journal keeps what was judged.
    """

    def __init__(self, path: Path, header: RunHeader, *, fresh: bool = False, retry_failed: bool = False) -> None:
        self.path = path
        # As it will come back from the file, where tuples are lists.
        self._header: dict[str, Any] = json.loads(json.dumps({"assay_run": 1, **asdict(header)}))
        self._journal_path = path.with_name(path.name + ".journal.jsonl")
        self._retry_failed = retry_failed
        self._known: dict[Subject, _Known] = {}
        self._lock = _lock(path)
        self._journal: Journal[ResultRow] | None = None
        try:
            if fresh:
                self._delete()
            self._load()
            if self._journal_path.exists() or not path.exists():
                self._journal = self._open()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._known)

    def has(self, subject: Subject, content_hash: str) -> bool:
        """Whether this judgment of this very content is there (where failures are retried: with a verdict).

        One that a kill cut off in the middle of its votes is not: it is made again, and its rows replaced.
        """
        known = self._known.get(subject)
        if known is None or known.content_hash != content_hash or len(known.votes) < known.drawn:
            return False
        return known.ok or not self._retry_failed

    def append(self, row: ResultRow) -> None:
        """Keep a row; it replaces an earlier one with its key. Raises OutputError."""
        if self._journal is None:
            self._journal = self._open()
        self._journal.append(row)
        self._remember((row.item_id, row.candidate), row.vote, row.content_hash, row.drawn, row.judged)

    def close(self, order: Iterable[Subject] = ()) -> None:
        """Turn everything into the Parquet file: rows in ``order`` first, the others as they came. Twice is fine."""
        if self._journal is None:
            self._lock.release()
            return
        self._journal.close()
        _, rows = read_journal(self._journal_path)
        last = {_key(row): offset for offset, row in rows}
        subjects = dict.fromkeys(subject for subject in order if subject in self._known) | dict.fromkeys(self._known)
        # A judgment made again may have drawn fewer votes: those of the first time that are left over are not its own.
        wanted = (
            (*subject, vote)
            for subject in subjects
            for vote in sorted(self._known[subject].votes)
            if vote < self._known[subject].drawn
        )
        seal(read_at(self._journal_path, (last[key] for key in wanted)), self.path, self._header, COLUMNS)
        self._journal_path.unlink()
        self._journal = None
        self._lock.release()

    def replace(self, rows: Iterable[ResultRow]) -> None:
        """Make ``rows`` all that there is, and close."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        seal(map(row_to_json, rows), self.path, self._header, COLUMNS)
        self._journal_path.unlink(missing_ok=True)
        self._lock.release()

    def _delete(self) -> None:
        """Start over. Only what is a run of ours is deleted: a wrong ``--out`` must not cost anybody's data."""
        if self.path.exists() and "assay_run" not in (_header(self.path) or {}):
            raise InputError(f"{str(self.path)!r} is not a run of Assay, so it is not deleted. Name another output.")
        self.path.unlink(missing_ok=True)
        self._journal_path.unlink(missing_ok=True)

    def _load(self) -> None:
        journal_header, rows = read_journal(self._journal_path)
        if journal_header is not None:
            self._check(self._journal_path, journal_header)
            self._note(row for _, row in rows)
        elif self.path.exists():
            self._check(self.path, _header(self.path))
            self._note(read_sealed(self.path))

    def _note(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            decision = json.loads(row.get("decision") or "{}")
            ok = "failure" not in decision if decision else row["outcome"] == VERDICT
            self._remember(_key(row)[:2], row["vote"], row["content_hash"], row.get("drawn") or 1, ok)

    def _remember(self, subject: Subject, vote: int, content_hash: str, drawn: int, ok: bool) -> None:
        known = self._known.get(subject)
        if known is None or known.content_hash != content_hash:
            known = self._known[subject] = _Known(content_hash, drawn, ok, set())
        known.drawn, known.ok = drawn, ok
        known.votes.add(vote)

    def _open(self) -> Journal[ResultRow]:
        """The journal, with the rows of a sealed file copied into it first: from then on it holds everything."""
        if self.path.exists() and not self._journal_path.exists():
            copy = self._journal_path.with_name(self._journal_path.name + ".part")
            copy.unlink(missing_ok=True)
            moved: Journal[Mapping[str, Any]] = Journal(copy, self._header, dict)
            for row in read_sealed(self.path):
                moved.append(row)
            moved.close()
            copy.replace(self._journal_path)
        return Journal(self._journal_path, self._header, row_to_json)

    def _check(self, path: Path, header: Mapping[str, Any] | None) -> None:
        if header != self._header:
            raise InputError(
                f"{str(path)!r} holds {_difference(header, self._header)}. "
                "Name another output, or pass --fresh to start over."
            )


def write_run(path: Path, header: RunHeader, rows: Iterable[ResultRow], *, fresh: bool = False) -> None:
    """A whole run at once, all or nothing. It replaces the same run, and with ``fresh`` any run that is there.

    Raises:
        InputError, OutputError: as ``RunFile``.
    """
    with RunFile(path, header, fresh=fresh) as file:
        file.replace(rows)


def _lock(path: Path) -> Lock:
    """The run's lock, held by this process until it ends, however it ends."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a directory; name a file in it")
    return Lock(path.with_name(path.name + ".lock"), repr(str(path)), "name another output")


def _key(row: Mapping[str, Any]) -> Key:
    return row["item_id"], row["candidate"], row["vote"]


def _header(path: Path) -> dict[str, Any] | None:
    try:
        return read_header(path)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InputError(f"{str(path)!r} exists and is not a result file: {error}. Name another output.") from error


def _difference(theirs: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> str:
    if theirs is None or "assay_run" not in theirs:
        return "something that is not a run of Assay"
    changed = [f"{key} {theirs.get(key)!r} instead of {ours[key]!r}" for key in ours if theirs.get(key) != ours[key]]
    return "a different run: " + ", ".join(changed)
