"""The verdict cache: what an engine said to an equal question at an equal draw. Judges read it again on every hit.

Kept are completions that held a verdict; what held none is asked again. The key (``cache_key``) names everything that
shapes a text, so another prompt, model, weight version, sampling or vote index is another entry and nothing goes stale;
the parser is not in it, so another way of reading finds the same texts.
"""

from __future__ import annotations

import json
import logging
import queue
import sqlite3
import threading
from collections import OrderedDict
from pathlib import Path

from assay.core.codec import completions_from_json, completions_to_json
from assay.core.errors import OutputError
from assay.core.seeds import digest
from assay.core.types import Completion, Draw, SamplingParams
from assay.engines.base import EngineInfo

from .records import said

log = logging.getLogger(__name__)

_FORMAT = 2
_BATCH = 256
_BUSY_S = 30
_ENTRY_BYTES = 600
_TOKEN_BYTES = 70
_ALTERNATIVE_BYTES = 170
_TABLE = "CREATE TABLE IF NOT EXISTS texts (key TEXT PRIMARY KEY, completions TEXT NOT NULL) WITHOUT ROWID"

Completions = tuple[Completion, ...]


def cache_key(asks: str, info: EngineInfo, sampling: SamplingParams, content: str, draw: Draw) -> str:
    """The key of one vote; ``attempt_key`` makes that of each time of asking out of it.

    ``sampling`` is the resolved one; its seed is left out, since the draw's is in.
    """
    knobs = {name: value for name, value in said(sampling).items() if name != "seed"}
    facts = [_FORMAT, asks, info.model, info.weight_version, knobs, content, draw.vote, draw.seed, list(draw.order)]
    return digest(facts)


def attempt_key(key: str, attempt: int) -> str:
    """The key of the ``attempt``-th time of asking, from 0."""
    return f"{key}-{attempt}"


class VerdictCache:
    """Recent texts in memory, bounded in (estimated) bytes, over an SQLite file that several processes may share.

    Without a file the memory is all.

    Nothing here waits for a disk: a thread of its own writes, in batches. A file that fails (full disk) ends the
    writing, not the judging; ``error`` then says why.

    Raises:
        OutputError: the file cannot be opened.
    """

    def __init__(self, path: Path | None = None, *, memory_bytes: int = 128 << 20) -> None:
        self.hits = 0
        self.misses = 0
        self.error: str | None = None
        self._memory: OrderedDict[str, Completions] = OrderedDict()
        self._memory_bytes = memory_bytes
        self._held = 0
        self._reader = None if path is None else _open(path)
        self._queue: queue.SimpleQueue[tuple[str, Completions] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        if path is not None:
            self._writer = threading.Thread(target=self._write, args=(path,), name="verdict cache", daemon=True)
            self._writer.start()

    def get(self, key: str) -> Completions | None:
        known = self._memory.get(key)
        if known is not None:
            self._memory.move_to_end(key)
        elif self._reader is not None:
            known = self._find(self._reader, key)
        if known is None:
            self.misses += 1
        else:
            self.hits += 1
        return known

    def put(self, key: str, completions: Completions) -> None:
        self._remember(key, completions)
        if self._writer is not None and self.error is None:
            self._queue.put((key, completions))

    def close(self) -> None:
        """Write what is left. Closing twice is fine."""
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _find(self, reader: sqlite3.Connection, key: str) -> Completions | None:
        try:
            found = reader.execute("SELECT completions FROM texts WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._fail(error)
            return None
        if found is None:
            return None
        known = completions_from_json(json.loads(found[0]))
        self._remember(key, known)
        return known

    def _write(self, path: Path) -> None:
        db = _open(path)
        closing = False
        while not closing:
            batch = [self._queue.get()]
            while batch[-1] is not None and len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get())
            closing = batch[-1] is None
            rows = [(entry[0], json.dumps(completions_to_json(entry[1]))) for entry in batch if entry is not None]
            try:
                with db:
                    db.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", rows)
            except sqlite3.Error as error:
                self._fail(error)
        db.close()

    def _remember(self, key: str, completions: Completions) -> None:
        self._held += _held(completions) - _held(self._memory.pop(key, None))
        self._memory[key] = completions
        while self._held > self._memory_bytes and self._memory:
            self._held -= _held(self._memory.popitem(last=False)[1])

    def _fail(self, error: sqlite3.Error) -> None:
        if self.error is None:
            self.error = str(error)
            log.error("the verdict cache works from memory only: %s", error)


def _held(completions: Completions | None) -> int:
    """About the bytes of memory that an entry takes: ids and log-probs, where there are some, take the most."""
    if completions is None:
        return 0
    return _ENTRY_BYTES + sum(map(_held_by, completions))


def _held_by(completion: Completion) -> int:
    places = completion.top_logprobs or ()
    tokens = max(len(completion.token_ids), len(completion.logprobs or ()))
    return len(completion.text) + tokens * _TOKEN_BYTES + sum(map(len, places)) * _ALTERNATIVE_BYTES


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, check_same_thread=False, timeout=_BUSY_S)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        with db:
            db.execute(_TABLE)
    except (OSError, sqlite3.Error) as error:
        raise OutputError(
            f"cannot open the verdict cache {str(path)!r}: {error}. "
            "Name another file, delete this one, or run without it."
        ) from error
    return db
