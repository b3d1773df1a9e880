"""The samples of a run as its report shows them: answers worth a look, out of the newest file that can be read.

A damaged file hides nothing else: it is named, and an older one stands in for it. Owns: which answers are shown, and
what is damaged. Does not own: the files (``rl.record``), how they are shown (``training_page``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.rl.record import FOLDER, sample_files

MOST = 4
"""Answers of each kind that are shown."""
_MAGIC = b"PAR1"
"""A Parquet file begins and ends with it; one that was cut off does not end so."""
_SHOWN = (
    "step", "group", "index", "prompt", "label", "response", "status", "reward", "judge", "judge_text", "failed_at",
    "failure_kind", "failure_detail", "advantage", "left_out",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A file of a run, or a line in one, that cannot be read."""

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Answers worth a look: rows of the file of one step, without token ids."""

    step: int
    best: tuple[Mapping[str, Any], ...] = ()
    worst: tuple[Mapping[str, Any], ...] = ()
    failed: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """``examples``: out of the last step whose file can be read; None where there is none. ``damaged``: the files that
    cannot; of those before that step, the ones that were cut off.
    """

    examples: Examples | None = None
    damaged: tuple[Damaged, ...] = ()


def read_samples(run: Path) -> Samples:
    """The samples in the folder of a run."""
    damaged: list[Damaged] = []
    found: Examples | None = None
    for path, step in reversed(sample_files(run / FOLDER)):
        try:
            if found is None:
                found = _examples(_rows(path), step)
            else:
                _check_ends(path)
        except (pa.ArrowException, OSError) as error:
            damaged.append(Damaged(path=path, why=" ".join(str(error).split())))
    return Samples(examples=found, damaged=tuple(reversed(damaged)))


def _rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path, columns=list(_SHOWN)).to_pylist()


def _check_ends(path: Path) -> None:
    """A look at both ends costs nothing, however many steps a run has."""
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
        file.seek(max(0, path.stat().st_size - len(_MAGIC)))
        if not head == file.read() == _MAGIC:
            raise OSError("no Parquet file, or one that was cut off")


def _examples(rows: Sequence[dict[str, Any]], step: int) -> Examples:
    scored = sorted((row for row in rows if row["reward"] is not None), key=_reward)
    best = [row for row in reversed(scored) if row["reward"] > scored[0]["reward"]]
    return Examples(
        step=step,
        best=tuple(_spread(best)),
        worst=tuple(scored[:MOST]),
        failed=tuple(_spread([row for row in rows if row["failed_at"]])),
    )


def _reward(row: Mapping[str, Any]) -> float:
    return float(row["reward"])


def _spread(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of each prompt before a second one of any."""
    seen: dict[Any, int] = {}
    ranked: list[tuple[int, int]] = []
    for place, row in enumerate(rows):
        ranked.append((seen.get(row["group"], 0), place))
        seen[row["group"]] = seen.get(row["group"], 0) + 1
    return [rows[place] for _, place in sorted(ranked)[:MOST]]
