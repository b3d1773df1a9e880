"""The file that a person labels: a case a row, CSV or JSONL by its name, with an empty ``class`` to fill in.

Owns: its columns, writing and reading. Does not own: which cases are in it (``cases``), what the labels come to
(``counts``).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.data import BadRecord, open_source

from .cases import Case, Cases

COLUMNS = (
    "class", "note", "id", "stratum", "stratum_wrong", "question", "answers", "gold", "scores", "judge_text",
)  # fmt: skip
MARKS = tuple("=+-@\t\r")
"""A cell that begins with one of these is a formula to a spreadsheet."""


class Cause(StrEnum):
    """Why a verdict is wrong (DeepSeek-GRM, figure 8)."""

    CRITIQUE = "critique"
    WEIGHTS = "weights"
    PRINCIPLE = "principle"
    LABEL = "label"


MEANING: Mapping[Cause, str] = {
    Cause.CRITIQUE: "the principles fit, and an answer was checked wrongly against them",
    Cause.WEIGHTS: "the principles and the critique fit, and the weights are off",
    Cause.PRINCIPLE: "a principle does not fit the question",
    Cause.LABEL: "the verdict may well be right, and the label doubtful",
}
_OTHER_NAMES: Mapping[str, Cause] = {
    "批评错误": Cause.CRITIQUE,
    "权重失衡": Cause.WEIGHTS,
    "原则不当": Cause.PRINCIPLE,
    "标注与真值矛盾": Cause.LABEL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A row that came back. ``cause`` None: not labelled. ``stratum_wrong``: wrong cases in its stratum, in all."""

    id: str
    stratum: str
    stratum_wrong: int
    cause: Cause | None


def write_sheet(path: Path, drawn: Sequence[Case], cases: Cases) -> None:
    """Write the file, whole or not at all.

    Raises:
        InputError: there is one already: what a person wrote is never overwritten; or its name is no .csv or .jsonl.
        OutputError: it cannot be written.
    """
    if path.exists():
        raise InputError(f"{str(path)!r} is there already, and may hold labels: name another file, or move it away")
    sizes = cases.by_stratum
    rows = [_row(case, sizes[case.stratum]) for case in drawn]
    if path.suffix == ".csv":
        text = _csv(rows)
    elif path.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        raise InputError(f"{str(path)!r} must end in .csv or .jsonl")
    write_whole(path, text)


def is_sheet(path: str | Path) -> bool:
    """Whether a file is one that was written for labels. Raises InputError where it cannot be read."""
    first = next(iter(open_source(path).records), None)
    return first is not None and not isinstance(first, BadRecord) and {"class", "stratum_wrong"} <= set(first.row)


def read_sheet(path: str | Path) -> list[Labelled]:
    """The rows of a labelled file.

    Raises:
        InputError: a broken row, or an unknown class; the message names the line, the value and the classes.
    """
    found: list[Labelled] = []
    for record in open_source(path).records:
        if isinstance(record, BadRecord):
            raise InputError(f"{str(path)!r}, line {record.line}: {record.reason}")
        where = f"{str(path)!r}, line {record.line}"
        row = record.row
        lacking = [name for name in ("class", "id", "stratum", "stratum_wrong") if name not in row]
        if lacking:
            raise InputError(f"{where}: it lacks {', '.join(lacking)}; leave the columns of the file as they are")
        found.append(
            Labelled(
                id=str(row["id"]),
                stratum=str(row["stratum"]),
                stratum_wrong=_count(row["stratum_wrong"], where),
                cause=_cause(row["class"], where),
            )
        )
    return found


def _count(value: Any, where: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: stratum_wrong must be a whole number, not {value!r:.40}") from error


def _cause(value: Any, where: str) -> Cause | None:
    said = str(value or "").strip().casefold()
    if not said:
        return None
    if said in _OTHER_NAMES:
        return _OTHER_NAMES[said]
    try:
        return Cause(said)
    except ValueError as error:
        raise InputError(f"{where}: there is no class {value!r:.40}; there are {', '.join(Cause)}") from error


def _row(case: Case, stratum_wrong: int) -> dict[str, Any]:
    answers = [
        f"[{place}] gold {gold:g}, score {score:g}\n{candidate.text}"
        for place, (candidate, gold, score) in enumerate(
            zip(case.item.candidates, case.gold, case.scores, strict=True), 1
        )
    ]
    return {
        "class": "",
        "note": "a tie" if case.tied else "",
        "id": case.item.id,
        "stratum": case.stratum,
        "stratum_wrong": stratum_wrong,
        "question": "\n\n".join(f"{message.role}: {message.text}" for message in case.item.messages),
        "answers": "\n\n".join(answers),
        "gold": " ".join(f"{one:g}" for one in case.gold),
        "scores": " ".join(f"{one:g}" for one in case.scores),
        "judge_text": case.text,
    }


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Answers are written by models: none of their cells may run as a formula where the file is opened."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([_quiet(row[name]) for name in COLUMNS] for row in rows)
    return out.getvalue()


def _quiet(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(MARKS) else value
