"""The flight recorder of a service: every judgment and generation, in Parquet files of bounded size.

A folder holds ``judgments-<start>-<number>.parquet`` files and the journal of the file that is being filled. A recorder
that cannot write (disk full) never stops the judging: it says so once in the log, in ``/health`` and in a counter.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from pathlib import Path

from assay.core.errors import OutputError

from .journal import Journal, read_journal, seal
from .records import Row

log = logging.getLogger(__name__)

_JOURNAL = ".journal.jsonl"


class Recorder:
    """Appends rows; seals a file every ``rows_per_file`` rows and at ``close``.

    ``dropped`` counts the rows that could not be written; ``error`` says why.
    """

    def __init__(self, folder: Path, *, rows_per_file: int = 50_000) -> None:
        self.folder = folder
        self.dropped = 0
        self.error: str | None = None
        self._rows_per_file = rows_per_file
        self._name = f"judgments-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        self._number = 0
        self._count = 0
        self._sealing: list[threading.Thread] = []
        self._seal_leftovers()
        self._journal = self._open()

    def append(self, row: Row) -> None:
        """Record a row; never blocks, never raises."""
        try:
            self._journal.append(row)
        except OutputError as error:
            self._drop(error)
            return
        self._count += 1
        if self._count >= self._rows_per_file:
            self._rotate()

    def close(self) -> None:
        """Write and seal what is left."""
        self._finish(self._journal)
        for thread in self._sealing:
            thread.join()

    def _open(self) -> Journal:
        self._number += 1
        path = self.folder / f"{self._name}-{self._number:04d}{_JOURNAL}"
        return Journal(path, {"assay": "recorder", "started": time.time()})

    def _rotate(self) -> None:
        full, self._count = self._journal, 0
        try:
            self._journal = self._open()
        except OutputError as error:
            self._drop(error)
            return
        # Sealing 50,000 rows takes about a second: in a thread, so that no request waits for it.
        thread = threading.Thread(target=self._finish, args=(full,), name="recorder seal")
        self._sealing = [t for t in self._sealing if t.is_alive()] + [thread]
        thread.start()

    def _finish(self, journal: Journal) -> None:
        try:
            journal.close()
            _seal_journal(journal.path)
        except OutputError as error:
            self._drop(error)

    def _seal_leftovers(self) -> None:
        """Journals of a recorder that was killed; those of a process that still runs are left alone."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob(f"judgments-*{_JOURNAL}")):
            with contextlib.suppress(ValueError, IndexError):
                if _alive(int(path.name.split("-")[2])):
                    continue
            try:
                _seal_journal(path)
            except OutputError as error:
                log.warning("left unsealed: %s", error)

    def _drop(self, error: OutputError) -> None:
        self.dropped += 1
        if self.error is None:
            self.error = str(error)
            log.error("the flight recorder stopped: %s", error)


def _seal_journal(path: Path) -> None:
    header, rows = read_journal(path)
    if rows:
        seal(rows, path.with_name(path.name.removesuffix(_JOURNAL) + ".parquet"), header or {})
    path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()
