"""The verdict cache: equal question to an equal judge, equal draw -> the verdict that is known already.

Only verdicts are kept: a failure is asked again. The key names everything that shapes a verdict (``verdict_key``), so
another prompt, parser, model, weight version, sampling or vote index is another entry, and nothing goes stale.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import OrderedDict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assay.core.errors import OutputError
from assay.core.seeds import digest
from assay.core.types import Draw, SamplingParams, Verdict
from assay.engines.base import EngineInfo

_FORMAT = 1
_COMMIT_ROWS = 256
_COMMIT_SECONDS = 1.0


def verdict_key(judge_identity: str, info: EngineInfo, sampling: SamplingParams, content: str, draw: Draw) -> str:
    """The cache key of one vote. ``sampling`` is the resolved one; its seed is the draw's."""
    said = asdict(replace(sampling, seed=None))
    return digest(
        [
            _FORMAT,
            judge_identity,
            info.model,
            info.weight_version,
            {name: value for name, value in said.items() if value is not None},
            content,
            draw.vote,
            draw.seed,
            list(draw.order),
        ]
    )


class VerdictCache:
    """A bounded memory of recent verdicts, over an SQLite file that outlives the process (or none).

    Writes are committed in batches: kill -9 loses at most the last second. A disk that is full ends the writing, not
    the judging; ``error`` then says why.
    """

    def __init__(self, path: Path | None = None, *, memory_entries: int = 100_000) -> None:
        self.hits = 0
        self.misses = 0
        self.error: str | None = None
        self._memory: OrderedDict[str, Verdict] = OrderedDict()
        self._memory_entries = memory_entries
        self._pending = 0
        self._committed = time.monotonic()
        self._db = None if path is None else _open(path)

    def get(self, key: str) -> Verdict | None:
        verdict = self._memory.get(key)
        if verdict is not None:
            self._memory.move_to_end(key)
        elif self._db is not None:
            found = self._db.execute("SELECT verdict FROM verdicts WHERE key = ?", (key,)).fetchone()
            if found is not None:
                verdict = _decode(found[0])
                self._remember(key, verdict)
        if verdict is None:
            self.misses += 1
        else:
            self.hits += 1
        return verdict

    def put(self, key: str, verdict: Verdict) -> None:
        self._remember(key, verdict)
        if self._db is None or self.error is not None:
            return
        try:
            self._db.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", (key, _encode(verdict)))
            self._pending += 1
            if self._pending >= _COMMIT_ROWS or time.monotonic() - self._committed > _COMMIT_SECONDS:
                self._commit()
        except sqlite3.OperationalError as error:
            self.error = str(error)

    def close(self) -> None:
        if self._db is None:
            return
        try:
            self._commit()
        except sqlite3.OperationalError as error:
            self.error = str(error)
        self._db.close()
        self._db = None

    def _commit(self) -> None:
        assert self._db is not None
        self._db.commit()
        self._pending = 0
        self._committed = time.monotonic()

    def _remember(self, key: str, verdict: Verdict) -> None:
        self._memory[key] = verdict
        if len(self._memory) > self._memory_entries:
            self._memory.popitem(last=False)


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, check_same_thread=False, timeout=5)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, verdict TEXT NOT NULL) WITHOUT ROWID")
        db.commit()
    except (OSError, sqlite3.Error) as error:
        raise OutputError(
            f"cannot open the verdict cache {str(path)!r}: {error}. "
            "Name another file, delete this one, or run without it."
        ) from error
    return db


def _encode(verdict: Verdict) -> str:
    return json.dumps(asdict(verdict))


def _decode(text: str) -> Verdict:
    fields: dict[str, Any] = json.loads(text)
    scores = fields["scores"]
    return Verdict(
        scores=None if scores is None else tuple(scores),
        choice=fields["choice"],
        flags=tuple(fields["flags"]),
        text=fields["text"],
        mass=fields["mass"],
    )
