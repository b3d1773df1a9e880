"""The figures of the monitor, out of verdicts and rewards. Pure; None where nothing can be said."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import combinations

from assay.core.stats import auc
from assay.judges.probe_readings import survives_swap

Ranked = tuple[Sequence[float], Sequence[float]]
"""Scores of the candidates of an item, and what they should be ordered like."""


def agreement(items: Iterable[Ranked]) -> float | None:
    """How often of two candidates that differ in gold the better one scores higher; equal scores count half.

    Pairs are taken within items. Where there are none (single labelled answers), across items: the area under the ROC
    curve, gold above its middle against the rest.
    """
    every = list(items)
    pairs = [_order(s, g, i, j) for s, g in every for i, j in combinations(range(len(g)), 2) if g[i] != g[j]]
    if pairs:
        return statistics.fmean(pairs)
    flat = [(score, label) for scores, gold in every for score, label in zip(scores, gold, strict=True)]
    if not flat:
        return None
    middle = (min(label for _, label in flat) + max(label for _, label in flat)) / 2
    return auc([s for s, label in flat if label > middle], [s for s, label in flat if label <= middle])


def consistency(pairs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> float | None:
    """The share of items whose best candidates stay the best when shown the other way round.

    Each pair holds the scores of the item and of its swapped form, in the order in which they were given.
    """
    same = [survives_swap(first, other) for first, other in pairs]
    return statistics.fmean(same) if same else None


def share(answers: Iterable[bool | None]) -> float | None:
    """The share of yes among those that are known."""
    known = [answer for answer in answers if answer is not None]
    return statistics.fmean(known) if known else None


def _order(scores: Sequence[float], gold: Sequence[float], i: int, j: int) -> float:
    if scores[i] == scores[j]:
        return 0.5
    return float((scores[i] > scores[j]) == (gold[i] > gold[j]))
