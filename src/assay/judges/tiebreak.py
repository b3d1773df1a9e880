"""Of candidates that are tied after voting, the soft score decides: the pure part of it.

Owns: the item with the tied candidates alone, and who wins by the soft scores of those. Does not own: who is tied
(``voting.ties``), asking the judge (``scoring``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.core.types import Item, Outcome, Verdict


def tied_item(item: Item, tied: Sequence[int]) -> Item:
    """The item with its ``tied`` candidates alone, in that order; what a soft judge (``tokenprob``) is asked about."""
    gold = None if item.gold is None else tuple(item.gold[index] for index in tied)
    return replace(item, candidates=tuple(item.candidates[index] for index in tied), gold=gold)


def softly_best(tied: Sequence[int], soft: Outcome) -> int | None:
    """Which of the ``tied`` candidates (indices of the whole item) has the highest soft score.

    Args:
        soft: the outcome of ``tied_item``.

    Returns:
        None where the soft judgment failed or is a tie itself: then the tie stays one.
    """
    if not isinstance(soft, Verdict) or soft.scores is None or len(soft.scores) != len(tied):
        return None
    best = max(soft.scores)
    winners = [index for index, score in zip(tied, soft.scores, strict=True) if score == best]
    return winners[0] if len(winners) == 1 else None
