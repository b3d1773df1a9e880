"""Judged items as data to train on: the best of n, or chosen and rejected. Only verdicts speak.

A failure gives no row, and neither do scores that are all equal. Both are counted, so what is missing is explained.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.files import whole
from assay.core.types import Item

from .canonical import item_to_row
from .decisions import judgments
from .results import ResultRow, by_judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The rows, and what became of the other items.

    ``ties``: every candidate scored the same, so nothing is better than anything. ``failed``: a judgment of the item
    failed or is missing. ``single``: one candidate, nothing to compare. ``unknown``: the item is not among those given.
    """

    rows: tuple[dict[str, Any], ...]
    ties: int = 0
    failed: int = 0
    single: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """An item with one score per candidate, not all equal."""

    item: Item
    judge: str
    scores: tuple[float, ...]
    choice: int | None = None
    """Where votes had to settle a tie: what they settled on."""

    @property
    def best(self) -> int:
        top = self.scores.index(max(self.scores))
        return top if self.choice is None or self.scores[self.choice] < self.scores[top] else self.choice

    @property
    def worst(self) -> int:
        return self.scores.index(min(self.scores))


def best_of_n(results: Iterable[ResultRow], items: Iterable[Item]) -> Export:
    """One row per item: its prompt and the candidate with the highest score; of equals the one that voting settled on,
    else the first (``tied`` lists them).

    Raises:
        InputError: the results come from more than one judge.
    """
    ranked, counts = _rank(results, items)
    return Export(rows=tuple(_best_row(r) for r in ranked), **counts)


def pairs(results: Iterable[ResultRow], items: Iterable[Item]) -> Export:
    """One row per item: the candidate with the highest score as ``chosen``, the one with the lowest as ``rejected``.

    Raises:
        InputError: the results come from more than one judge.
    """
    ranked, counts = _rank(results, items)
    return Export(rows=tuple(_pair_row(r) for r in ranked), **counts)


EXPORTS = {"best": best_of_n, "pairs": pairs}


def write_jsonl(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSONL, all or nothing, and return how many; the folder is made.

    A lone surrogate is written as its JSON escape.

    Raises:
        OutputError: the file cannot be written.
    """
    written = 0
    with whole(Path(path)) as partial, partial.open("wb") as file:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False, allow_nan=False)
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")
            written += 1
    return written


def _rank(results: Iterable[ResultRow], items: Iterable[Item]) -> tuple[list[_Ranked], dict[str, int]]:
    rows = judgments(results)
    judges = [name for name, _, _ in by_judge(rows)]
    if len(judges) > 1:
        raise InputError(f"the results come from several judges ({', '.join(judges)}): export those of one")
    known = {item.id: item for item in items}
    grouped: dict[str, list[ResultRow]] = {}
    for row in rows:
        grouped.setdefault(row.item_id, []).append(row)
    ranked: list[_Ranked] = []
    counts = {"ties": 0, "failed": 0, "single": 0, "unknown": 0}
    for name, group in grouped.items():
        item = known.get(name)
        scores = _scores(group, item.n) if item else None
        fate = _fate(item, scores)
        if fate:
            counts[fate] += 1
        elif item and scores:
            choice = group[-1].choice if group[-1].candidate is None else None
            ranked.append(_Ranked(item=item, judge=group[0].judge, scores=scores, choice=choice))
    return ranked, counts


def _fate(item: Item | None, scores: Sequence[float] | None) -> str | None:
    if item is None:
        return "unknown"
    if scores is None:
        return "failed"
    if item.n < 2:
        return "single"
    return "ties" if len(set(scores)) == 1 else None


def _scores(group: Sequence[ResultRow], n: int) -> tuple[float, ...] | None:
    """One score per candidate, out of one judgment of all or one of each; None where any is missing."""
    found: dict[int, float] = {}
    for row in group:
        ranking = row.ranking
        if ranking is None:
            continue
        if row.candidate is None:
            found = dict(enumerate(ranking))
        elif len(ranking) == 1:
            found[row.candidate] = ranking[0]
    return tuple(found[i] for i in range(n)) if set(found) == set(range(n)) else None


def _prompt(item: Item) -> dict[str, Any]:
    row = item_to_row(item)
    return {key: row[key] for key in ("id", "prompt", "messages") if key in row}


def _best_row(ranked: _Ranked) -> dict[str, Any]:
    top = max(ranked.scores)
    tied = [i for i, score in enumerate(ranked.scores) if score == top]
    return {
        **_prompt(ranked.item),
        "response": ranked.item.candidates[ranked.best].text,
        "score": top,
        "index": ranked.best,
        "n": ranked.item.n,
        "tied": tied if len(tied) > 1 else [],
        "judge": ranked.judge,
    }


def _pair_row(ranked: _Ranked) -> dict[str, Any]:
    candidates, scores = ranked.item.candidates, ranked.scores
    return {
        **_prompt(ranked.item),
        "chosen": candidates[ranked.best].text,
        "rejected": candidates[ranked.worst].text,
        "chosen_score": scores[ranked.best],
        "rejected_score": scores[ranked.worst],
        "judge": ranked.judge,
    }
