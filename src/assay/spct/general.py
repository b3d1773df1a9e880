"""General instructions that are mixed in, so that a judge does not forget the rest (paper: 85 % of the rows).

A row of the file with an answer is taken as it is; one without is answered by the model that is sampled. Owns: reading
the file, and which of its rows are drawn. Does not own: the sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import Item, Message
from assay.data import ResultRow, open_source
from assay.data.principles import NO_CANDIDATE
from assay.data.records import BadRecord
from assay.data.turns import read_turns

from .rows import Turned, general_row
from .tally import GeneralCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralRow:
    """A prompt, and its answer where the file has one."""

    id: str
    messages: tuple[Message, ...]
    completion: str | None

    @property
    def item(self) -> Item:
        """The prompt as something to be answered."""
        return Item(id=self.id, messages=self.messages, candidates=NO_CANDIDATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class General:
    """All rows of a file."""

    source: str
    rows: tuple[GeneralRow, ...]

    def drawn(self, ratio: float, judged: int, seed: int) -> tuple[GeneralRow, ...]:
        """``ratio`` for each row of judging, at most all, in the order of the file; none is taken twice."""
        wanted = wanted_rows(ratio, judged)
        ranked = sorted(range(len(self.rows)), key=lambda place: (self._hash(place, seed), place))
        return tuple(self.rows[place] for place in sorted(ranked[:wanted]))

    def _hash(self, place: int, seed: int) -> str:
        return digest(["general", seed, [[turn.role, turn.text] for turn in self.rows[place].messages]])


def wanted_rows(ratio: float, judged: int) -> int:
    """How many general rows go with ``judged`` rows of judging."""
    return round(ratio * judged)


def load_general(source: str) -> General:
    """``{"messages": [...]}``, ``{"prompt": text or messages}``, each with a ``completion`` or a last turn of the
    assistant, or without, to be answered.

    Raises:
        InputError: the source cannot be read, or a row is none of these; names the line.
    """
    opened = open_source(source)
    rows: list[GeneralRow] = []
    for record in opened.records:
        where = f"{source!r}, line {record.line}"
        if isinstance(record, BadRecord):
            raise InputError(f"{where}: {record.reason}")
        rows.append(_row(record.row, f"{opened.stem}-{record.line}", where))
    if not rows:
        raise InputError(f"{source!r} holds no rows to mix in")
    return General(source=opened.stem, rows=tuple(rows))


def mixed(
    drawn: Sequence[GeneralRow], answers: Mapping[str, ResultRow], general: General, wanted: int
) -> tuple[list[dict[str, Any]], GeneralCounts]:
    """The rows of what was drawn, and how many came from where. ``answers``: recorded, by the row's id."""
    rows: list[dict[str, Any]] = []
    given = distilled = failed = 0
    for one in drawn:
        said, vote = one.completion, None
        if said is None:
            vote = answers.get(one.id)
            if vote is None or not vote.ok:
                failed += 1
                continue
            said = vote.text
            distilled += 1
        else:
            given += 1
        rows.append(general_row(Turned(messages=one.messages, completion=said), one.id, general.source, vote))
    counts = GeneralCounts(
        source=general.source, wanted=wanted, there=len(general.rows), given=given, distilled=distilled, failed=failed
    )
    return rows, counts


def _row(row: Mapping[str, Any], name: str, where: str) -> GeneralRow:
    prompt = next((row[key] for key in ("prompt", "messages") if row.get(key) is not None), None)
    if prompt is None:
        raise InputError(f"{where}: a general row needs 'prompt' or 'messages'; there are {', '.join(row)}")
    messages = _messages(prompt, where)
    said = row.get("completion")
    if said is None and len(messages) > 1 and messages[-1].role == "assistant":
        messages, said = messages[:-1], messages[-1].text
    if said is not None and (not isinstance(said, str) or not said.strip()):
        raise InputError(f"{where}: the completion must be a text that is not empty, got {said!r:.80}")
    return GeneralRow(id=name, messages=messages, completion=said)


def _messages(value: Any, where: str) -> tuple[Message, ...]:
    if isinstance(value, str) and value.strip():
        return (Message(role="user", content=value),)
    return read_turns(value, where)
