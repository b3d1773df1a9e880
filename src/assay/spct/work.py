"""Which items can be sampled, and by which judge: several candidates by the judge itself, single ones on its scale 0-1.

Owns: what an item must have for a verdict to be right or wrong. Does not own: the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Draw, Item
from assay.data.preference.best import unique_best
from assay.judges.base import Judge
from assay.judges.parts import parts
from assay.scoring.batch import Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Items that one judge samples. ``name``: of its files (``samples``, ``single``)."""

    name: str
    judge: Judge
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """What is to be done, and what cannot be. ``place``: of each item in the input, by its id."""

    works: tuple[Work, ...]
    skipped: tuple[Skipped, ...]


def sort_items(items: Iterable[Item], judge: Judge, single: Judge | None = None) -> Sorted:
    """The items by the judge that samples them.

    Args:
        single: judges items with one candidate, 0 or 1; None where ``judge`` does itself, or cannot.

    Raises:
        InputError: a judge is none whose reply is one sampled text.
    """
    several: list[Item] = []
    alone: list[Item] = []
    skipped: list[Skipped] = []
    for item in items:
        use = single if single is not None and item.n == 1 else judge
        try:
            usable = _usable(item, use)
        except InputError as error:
            skipped.append(Skipped(item_id=item.id, reason=str(error)))
            continue
        (alone if use is single else several).append(usable)
    works = [Work(name="samples", judge=judge, items=tuple(several))]
    if single is not None:
        works.append(Work(name="single", judge=single, items=tuple(alone)))
    return Sorted(works=tuple(work for work in works if work.items), skipped=tuple(skipped))


def asked_once(judge: Judge, item: Item, draw: Draw) -> ChatPrompt:
    """The one prompt of a sample.

    Raises:
        InputError: the judge asks several, or does not read a sampled text.
    """
    requests = judge.plan(item, draw)
    prompt = requests[0].prompt
    if len(requests) != 1 or requests[0].choices is not None or not isinstance(prompt, ChatPrompt):
        raise InputError(
            f"judge {judge.name!r} does not answer one prompt with one text, which is what a row to train on is; take "
            "pointwise, pairwise in one order, or verifier"
        )
    return prompt


def _usable(item: Item, judge: Judge) -> Item:
    """The item as it is sampled. Raises InputError: why it cannot be."""
    if item.gold is None:
        raise InputError(f"item {item.id!r} has no gold, so no sample could be accepted or rejected")
    one_by_one = judge.per_candidate or item.n == 1
    if one_by_one and not set(item.gold) <= {0.0, 1.0}:
        raise InputError(f"item {item.id!r}: the gold of a candidate that is judged alone must be 0 or 1: {item.gold}")
    found = item if one_by_one else unique_best(item)
    if found is None:
        raise InputError(f"item {item.id!r}: no candidate is worse than the best: {_told(item.gold)}")
    for part in parts(judge, found):
        asked_once(judge, part, Draw(vote=0, seed=0, order=tuple(range(part.n))))
        judge.content(part)
    return found


def _told(gold: Sequence[float]) -> str:
    return f"gold {tuple(gold)}"
