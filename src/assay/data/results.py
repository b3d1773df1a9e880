"""``ResultRow``: one vote as it stands in a result file, which the scorer writes and reports, exports and replays read.

Owns: the names, types and meanings of the columns, and both ways between a row, its JSON and its Arrow schema. A row is
complete: the judge's raw completions can be read again under another parser without the engine or the source file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from assay.core.errors import InputError

from .records import BadRecord
from .sources import open_source

VERDICT = "verdict"
"""The ``outcome`` of a judgment that holds; any other outcome is the kind of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One vote. What a file does not say is None, empty or 0 for counts; a score is never invented."""

    item_id: str
    judge: str
    outcome: str
    candidate: int | None = None
    """Which candidate was judged on its own; None = all of the item's together."""
    vote: int = 0
    instance: str = ""
    judge_identity: str = ""
    content_hash: str = ""
    prompt_hash: str = ""
    model: str = ""
    weight_version: str = ""
    parameters: int | None = None
    """Active parameters of the model, where they are known: those that a token passes."""
    base_seed: int = 0
    """The user's own seed, that all others follow from."""
    seed: int | None = None
    order: tuple[int, ...] = ()
    """``order[place]``: index of the candidate that was shown at that place."""
    sampling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What was asked of the engine, defaults filled in."""
    prompt: str = ""
    text: str = ""
    detail: str = ""
    flags: tuple[str, ...] = ()
    scores: tuple[float, ...] | None = None
    choice: int | None = None
    mass: float | None = None
    gold: tuple[float, ...] | None = None
    n: int = 1
    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0
    cached: bool = False
    reasks: int = 0
    voting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The vote plan, as ``voting.spoken`` writes it; empty for a judgment that was one plain vote."""
    drawn: int = 1
    """How many votes about the same candidates were drawn."""
    kept: bool = True
    """Whether the vote had a part in the decision."""
    meta: float | None = None
    """The meta RM's logit."""
    meta_detail: str = ""
    """Why there is none, where one was asked for."""
    decision: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What votes came to: ``scores``, ``choice``, ``flags``, or ``failure`` with ``detail``; empty without voting."""
    breakdown: tuple[Mapping[str, Any], ...] = ()
    """Scores by criterion, one mapping per candidate."""
    time: float | None = None
    """Unix seconds when it was judged."""
    completions: tuple[Mapping[str, Any], ...] = ()
    """What the engine said, as ``core.codec`` writes it."""
    item: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The whole item, as ``data.canonical`` writes it; empty where the writer did not have it."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def ok(self) -> bool:
        return self.outcome == VERDICT

    @property
    def judged(self) -> bool:
        """Whether the judgment that the vote belongs to came to a verdict."""
        return "failure" not in self.decision if self.decision else self.ok

    @property
    def ranking(self) -> tuple[float, ...] | None:
        """The scores; for a verdict that only names the best candidate, 1 for it and 0 for the others; else None."""
        if not self.ok or self.scores is not None or self.choice is None:
            return self.scores if self.ok else None
        return tuple(float(i == self.choice) for i in range(self.n))

    @property
    def own_gold(self) -> tuple[float, ...] | None:
        """The gold of what was judged: of the one candidate, or of all of them."""
        if self.candidate is None or self.gold is None or len(self.gold) == 1:
            return self.gold
        return (self.gold[self.candidate],) if self.candidate < len(self.gold) else None


_TYPES = {
    "str": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "int | None": pa.int64(),
    "float": pa.float64(),
    "float | None": pa.float64(),
    "tuple[int, ...]": pa.list_(pa.int64()),
    "tuple[str, ...]": pa.list_(pa.string()),
    "tuple[float, ...] | None": pa.list_(pa.float64()),
    "Mapping[str, Any]": pa.string(),
    "tuple[Mapping[str, Any], ...]": pa.string(),
}
COLUMNS = pa.schema([(f.name, _TYPES[str(f.type)]) for f in fields(ResultRow)])
"""The Arrow schema of result files; what is a mapping in a row is JSON text in a column."""

VARYING = frozenset({"time", "latency_s", "cached", "calls", "cached_tokens", "instance"})
"""Columns in which two runs with equal verdicts may differ: they tell when, how fast, and who asked first."""

_NAMES = frozenset(COLUMNS.names)
_JSON = tuple(f.name for f in fields(ResultRow) if "Mapping" in str(f.type))
_TUPLES = ("flags", "scores", "gold", "order")


def row_to_json(row: ResultRow) -> dict[str, Any]:
    """The row as it goes into a file: JSON-able, lists for tuples, JSON text for mappings."""
    values: dict[str, Any] = {name: getattr(row, name) for name in COLUMNS.names}
    for name in _JSON:
        values[name] = json.dumps(values[name], ensure_ascii=False, default=str, sort_keys=True)
    for name in _TUPLES:
        values[name] = None if values[name] is None else list(values[name])
    return values


def result_row(row: Mapping[str, Any]) -> ResultRow:
    """A ``ResultRow`` of a mapping with its columns; null means "not said", columns that are not known are left out.

    Raises:
        InputError: ``item_id``, ``judge`` or ``outcome`` is absent; a list or an object stands as something else.
    """
    values = {key: value for key, value in row.items() if key in _NAMES and value is not None}
    lacking = [name for name in ("item_id", "judge", "outcome") if name not in values]
    if lacking:
        raise InputError(f"this is no row of results: it lacks {', '.join(lacking)}; it has {', '.join(row)}")
    for name in _TUPLES:
        if name in values:
            values[name] = _listed(name, values[name])
    for name in _JSON:
        if name in values:
            values[name] = _from_json(name, values[name])
    return ResultRow(**values)


def read_results(path: str | Path) -> list[ResultRow]:
    """Every judgment of a result file (Parquet or JSONL); raw generations, which no judge has read, are left out.

    Raises:
        InputError: there is no such file, it is no file of results, or a line of it is broken; names file and line.
    """
    rows: list[ResultRow] = []
    for record in open_source(path).records:
        if isinstance(record, BadRecord):
            raise InputError(f"{str(path)!r}, line {record.line}: {record.reason}")
        try:
            row = result_row(record.row)
        except InputError as error:
            fix = "give a file that assay judge wrote with --out"
            raise InputError(f"{str(path)!r}, line {record.line}: {error}; {fix}") from error
        if row.judge:
            rows.append(row)
    return rows


def by_judge(rows: Iterable[ResultRow]) -> dict[tuple[str, str, str], list[ResultRow]]:
    """The rows of each judge, told apart by name, identity and model, in the order of appearance.

    A row that names no model (a failure before any engine answered) goes with the first model of its judge.
    """
    every = list(rows)
    models: dict[tuple[str, str], str] = {}
    for row in every:
        if row.model:
            models.setdefault((row.judge, row.judge_identity), row.model)
    found: dict[tuple[str, str, str], list[ResultRow]] = {}
    for row in every:
        judge = (row.judge, row.judge_identity)
        found.setdefault((*judge, row.model or models.get(judge, "")), []).append(row)
    return found


def _listed(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"the {name} of a result must be a list, not {value!r:.80}")
    return tuple(cast("Sequence[Any]", value))


def _from_json(name: str, value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value else {}
        except ValueError as error:
            raise InputError(f"the {name} of a result is no JSON: {value!r:.80}") from error
    if name in ("completions", "breakdown"):
        return tuple(cast("Sequence[Mapping[str, Any]]", value or ()))
    if not isinstance(value, Mapping):
        raise InputError(f"the {name} of a result must be an object, not {value!r:.80}")
    return cast("Mapping[str, Any]", value)
