"""Items with a unique best candidate, which eq. 10 of DeepSeek-GRM takes for granted."""

from __future__ import annotations

import random
from dataclasses import replace

from assay.core.seeds import digest
from assay.core.types import Item


def unique_best(item: Item) -> Item | None:
    """The item with one of its equally best candidates and all worse ones; as it is where there is only one best.

    Which of the best stays follows from the item's content. None where nothing is worse than the best, or gold is
    missing. A single candidate with gold stays as it is: it is compared with its label, not with others.
    """
    if item.gold is None:
        return None
    if item.n == 1:
        return item
    top = max(item.gold)
    best = [index for index, gold in enumerate(item.gold) if gold == top]
    if len(best) == item.n:
        return None
    if len(best) == 1:
        return item
    draw = random.Random(int(digest([item.question, [candidate.text for candidate in item.candidates]]), 16))
    kept = {draw.choice(best)} | (set(range(item.n)) - set(best))
    order = [index for index in range(item.n) if index in kept]
    return replace(
        item,
        candidates=tuple(item.candidates[index] for index in order),
        gold=tuple(item.gold[index] for index in order),
    )
