"""Rows of a benchmark whose authors ask that no text of it appear in the open: figures only, no text of any kind.

The lenient parser reads the texts before they are dropped; what it made of them, and how long they were, is kept in
the row's metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from assay.core.codec import completions_from_json
from assay.core.types import Completion, Draw, Item, Outcome
from assay.data.results import ResultRow
from assay.judges.base import Judge
from assay.scoring.records import decision_json

LENIENT, LENGTHS = "lenient", "lengths"


def without_text(items: Mapping[str, Item], lenient: Judge | None) -> Callable[[ResultRow], ResultRow]:
    """What to make of each row before it is written anywhere.

    Args:
        items: by the id that the rows have. lenient: the judge with the forgiving parser, where it has one.
    """

    def stripped(row: ResultRow) -> ResultRow:
        completions = completions_from_json(row.completions)
        kept: dict[str, Any] = {"subset": row.metadata.get("subset")}
        if completions:
            kept[LENGTHS] = list(lengths(completions))
            if lenient is not None:
                read = lenient.read(items[row.item_id], _draw(row), completions)
                kept[LENIENT] = _told(read)
        decision = {name: "" if name == "detail" else value for name, value in row.decision.items()}
        return replace(
            row,
            prompt="",
            text="",
            detail="",
            meta_detail=f"{row.meta_detail.partition(': ')[0]}: " if row.meta_detail else "",
            completions=(),
            item={},
            decision=decision,
            metadata=kept,
        )

    return stripped


def lengths(completions: tuple[Completion, ...]) -> tuple[int, int]:
    """Prompt tokens and written tokens of a vote."""
    return sum(one.prompt_tokens for one in completions), sum(one.completion_tokens for one in completions)


def _draw(row: ResultRow) -> Draw:
    return Draw(vote=row.vote, seed=row.seed or 0, order=row.order)


def _told(outcome: Outcome) -> dict[str, Any]:
    told = decision_json(outcome)
    told.pop("detail", None)
    return told
