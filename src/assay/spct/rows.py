"""Rows to fine-tune on, in the form that ``assay sft`` reads: messages, completion, and where they are from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from assay.core.types import Draw, Item, Message
from assay.data import ResultRow
from assay.judges.base import Judge

from .plan import KIND, SOURCE
from .work import asked_once

COLUMNS = pa.schema(
    [
        ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("completion", pa.string()),
        ("task", pa.string()),
        ("item", pa.string()),
        ("candidate", pa.int64()),
        ("source", pa.string()),
        ("kind", pa.string()),
        ("hinted", pa.bool_()),
        ("vote", pa.int64()),
        ("seed", pa.int64()),
        ("order", pa.list_(pa.int64())),
        ("gold", pa.list_(pa.float64())),
        ("scores", pa.list_(pa.float64())),
        ("judge", pa.string()),
        ("model", pa.string()),
        ("weight_version", pa.string()),
    ]
)
"""``task`` is ``judge`` or ``general``. ``order[place]``: the candidate shown there. ``scores``: the verdict, in the
item's own order. ``judge``: its identity. A given general row has no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """A prompt with what was said to it."""

    messages: tuple[Message, ...]
    completion: str


def judged_row(judge: Judge, item: Item, vote: ResultRow, gold: Sequence[float], *, hinted: bool) -> dict[str, Any]:
    """A right sample as a row. ``judge``: whose prompt is trained on; ``item``: what the sample is about."""
    draw = Draw(vote=vote.vote, seed=vote.seed or 0, order=vote.order)
    return {
        "messages": turns(asked_once(judge, item, draw).messages),
        "completion": str(vote.completions[-1]["text"]),
        "task": "judge",
        "item": vote.item_id,
        "candidate": vote.candidate,
        "source": name_of(item, SOURCE),
        "kind": name_of(item, KIND),
        "hinted": hinted,
        "vote": vote.vote,
        "seed": vote.seed,
        "order": list(vote.order),
        "gold": list(gold),
        "scores": list(vote.ranking or ()),
        "judge": vote.judge_identity,
        "model": vote.model,
        "weight_version": vote.weight_version,
    }


def general_row(said: Turned, item: str, source: str, vote: ResultRow | None) -> dict[str, Any]:
    """A general row; ``vote``: the sample that its completion is, None where the file gave it."""
    return dict.fromkeys(COLUMNS.names) | {
        "messages": turns(said.messages),
        "completion": said.completion,
        "task": "general",
        "item": item,
        "source": source,
        "hinted": False,
        "vote": None if vote is None else vote.vote,
        "seed": None if vote is None else vote.seed,
        "model": None if vote is None else vote.model,
        "weight_version": None if vote is None else vote.weight_version,
    }


def turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as JSON."""
    return [{"role": message.role, "content": message.text} for message in messages]


def name_of(item: Item, key: str) -> str:
    """What the item's metadata calls its source or kind; a dash where it does not."""
    said = item.metadata.get(key)
    return "-" if said is None or said == "" else str(said)
