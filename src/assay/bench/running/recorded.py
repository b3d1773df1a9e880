"""The votes of a result file, light: outcomes, draws, meta scores and lengths, without texts, and a lenient reading.

A run of 100,000 votes holds gigabytes of prompts; they are read once, in pieces, and not kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.core.types import Failure, FailureKind, Item, Outcome, Usage, Verdict, Vote
from assay.data.decisions import to_vote
from assay.data.results import ResultRow, result_row
from assay.judges.base import Judge, content_hash
from assay.scoring.runfile import Subject

from .private import LENGTHS, LENIENT, lengths

_LEFT_OUT = frozenset({"item", "prompt", "text", "sampling", "voting", "breakdown", "decision", "prompt_hash"})
_ROWS = 500


@dataclass(slots=True, kw_only=True)
class Recorded:
    """The votes of one pass."""

    votes: dict[Subject, list[Vote]] = field(default_factory=lambda: defaultdict(list))
    """In their order. ``Vote.usage``: the lengths of prompt and texts, also where a cache answered."""
    lenient: dict[Subject, list[Vote]] = field(default_factory=lambda: defaultdict(list))
    """The same votes as the lenient parser reads them; empty without one."""
    spent: dict[int | None, Usage] = field(default_factory=dict[int | None, Usage])
    """What the pass cost, by the active parameters of the model."""
    failures: Counter[str] = field(default_factory=Counter[str])
    """Votes without a verdict, by kind."""
    models: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Models and weight versions that answered."""


def read_votes(path: Path, items: Mapping[str, Item], judge: Judge, lenient: Judge | None) -> Recorded:
    """The votes on ``items``: others, of an earlier run with more of them, are left alone.

    Args:
        items: by the id that the rows have. lenient: the judge with the forgiving parser; None = no second reading.
    """
    found = Recorded()
    contents = {name: content_hash(judge, item) for name, item in items.items()}
    for row in _rows(path):
        if contents.get(row.item_id) != row.content_hash:
            continue
        _add(found, row, items[row.item_id], lenient)
    for votes in (*found.votes.values(), *found.lenient.values()):
        votes.sort(key=lambda vote: vote.draw.vote)
    return found


def _add(found: Recorded, row: ResultRow, item: Item, lenient: Judge | None) -> None:
    subject = (row.item_id, row.candidate)
    vote = to_vote(row)
    prompt, written = _lengths(row, vote)
    used = found.spent.get(row.parameters, Usage())
    found.spent[row.parameters] = used + vote.usage
    light = replace(vote, completions=(), usage=Usage(prompt_tokens=prompt, completion_tokens=written))
    found.votes[subject].append(light)
    if isinstance(vote.outcome, Failure):
        found.failures[str(vote.outcome.kind)] += 1
    if vote.model:
        found.models.add((vote.model, vote.weight_version))
    if lenient is not None:
        found.lenient[subject].append(replace(light, outcome=_read_again(row, vote, item, lenient)))


def _lengths(row: ResultRow, vote: Vote) -> tuple[int, int]:
    if vote.completions:
        return lengths(vote.completions)
    kept: Sequence[int] = row.metadata.get(LENGTHS) or (row.prompt_tokens, row.completion_tokens)
    return kept[0], kept[1]


def _read_again(row: ResultRow, vote: Vote, item: Item, lenient: Judge) -> Outcome:
    """Votes without a text (a timeout) stay what they are."""
    if vote.completions:
        outcome = lenient.read(item, vote.draw, vote.completions)
        return replace(outcome, text="")
    told = row.metadata.get(LENIENT)
    return vote.outcome if told is None else _outcome(told)


def _outcome(told: Mapping[str, Any]) -> Outcome:
    if "failure" in told:
        return Failure(kind=FailureKind(told["failure"]), detail="")
    scores = told["scores"]
    return Verdict(
        scores=None if scores is None else tuple(scores), choice=told["choice"], flags=tuple(told["flags"] or ())
    )


def _rows(path: Path) -> Iterator[ResultRow]:
    with pq.ParquetFile(path) as file:
        columns = [name for name in file.schema_arrow.names if name not in _LEFT_OUT]
        for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
            for row in batch.to_pylist():
                yield result_row(row)
