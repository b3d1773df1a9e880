"""Which candidate is best, and what becomes of a tie. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.seeds import derive_order

from .plan import Ties


def best_of(scores: Sequence[float]) -> tuple[int, ...]:
    """The indices of the highest score, in order; several of them are a tie.

    Raises:
        ValueError: there are no scores.
    """
    highest = max(scores)
    return tuple(index for index, score in enumerate(scores) if score == highest)


def choose(scores: Sequence[float], ties: Ties, seed: int) -> int | None:
    """The index of the best candidate; None for a tie that the rule leaves open (``wrong``, ``half``).

    ``random``: shuffle, then the first of the best, as in DeepSeek-GRM, with the given seed.
    """
    winners = best_of(scores)
    if len(winners) == 1 or ties == "first":
        return winners[0]
    if ties == "random":
        return next(index for index in derive_order(seed, len(scores)) if index in winners)
    return None


def credit(scores: Sequence[float], gold: int, ties: Ties, seed: int) -> float:
    """What a decision is worth where ``gold`` is the one right candidate: 1 right, 0 wrong, ``half`` a tie with it."""
    if ties == "half" and len(best_of(scores)) > 1:
        return 0.5 if gold in best_of(scores) else 0.0
    return float(choose(scores, ties, seed) == gold)
