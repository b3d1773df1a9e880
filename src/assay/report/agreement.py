"""How far verdicts agree with gold. Over verdicts only: a failure stands beside the figure, never inside it.

Two kinds of question have two kinds of answer. One candidate with gold 0 or 1: is it accepted (a score of at least 0.5
on a 0-1 scale), and do right answers score higher than wrong ones (AUC, on any scale)? Several candidates: does the
best one, and nothing else, stand on top?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from assay.core.intervals import Interval, Rate, auc_interval, weighted_mean
from assay.core.stats import auc
from assay.data import ResultRow

THRESHOLD = 0.5
"""A candidate with at least this score on a 0-1 scale is accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepting:
    """Single candidates with gold 0 or 1.

    ``accuracy``, ``accepted`` (right ones accepted, TPR), ``refused`` (wrong ones refused, TNR) and ``balanced`` are
    None when the scores are not on a 0-1 scale, ``balanced`` and ``auc`` also when gold has only one of the two.
    """

    n: int
    positives: int
    accuracy: Interval | None
    accepted: Rate | None
    refused: Rate | None
    balanced: Interval | None
    auc: Interval | None
    hits: int | None
    """How many of ``n`` agree, where ``accuracy`` is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Several candidates: the highest score must belong to the best gold alone (DeepSeek-GRM eq. 10: a tie is wrong).

    Where several candidates share the best gold, a tie among them is right. ``chance``: what a blind order would get.
    ``tied``: a best one and another share the highest score. ``silent``: items whose gold prefers nothing, left out.
    ``incomplete``: items left out because a judgment of one of their candidates failed or is missing.
    """

    right: Rate
    tied: Rate
    chance: float
    silent: int = 0
    incomplete: int = 0


Agreement: TypeAlias = "Accepting | Ranking"
Scored: TypeAlias = "tuple[Sequence[float], Sequence[float]]"
"""Scores and gold of the same candidates."""


def accepts(score: float, gold: float) -> bool:
    """Whether a score on a 0-1 scale says what gold, 0 or 1, says."""
    return (score >= THRESHOLD) == (gold == 1.0)


def top_is_right(scores: Sequence[float], gold: Sequence[float]) -> bool | None:
    """Whether the best gold, and nothing else, has the highest score; None when gold prefers nothing."""
    best = max(gold)
    others = [score for score, g in zip(scores, gold, strict=True) if g < best]
    if not others:
        return None
    return max(score for score, g in zip(scores, gold, strict=True) if g == best) > max(others)


def accepting(pairs: Sequence[tuple[float, float]]) -> Accepting | None:
    """The agreement of (score, gold) pairs; pairs whose gold is not 0 or 1 are left out. None when none is left."""
    right = [score for score, gold in pairs if gold == 1.0]
    wrong = [score for score, gold in pairs if gold == 0.0]
    n = len(right) + len(wrong)
    if n == 0:
        return None
    area = auc(right, wrong)
    unit = unit_scale(right + wrong)
    accepted = Rate(hits=sum(score >= THRESHOLD for score in right), n=len(right))
    refused = Rate(hits=sum(score < THRESHOLD for score in wrong), n=len(wrong))
    hits = accepted.hits + refused.hits
    return Accepting(
        n=n,
        positives=len(right),
        hits=hits if unit else None,
        accuracy=Rate(hits=hits, n=n).interval if unit else None,
        accepted=accepted if unit else None,
        refused=refused if unit else None,
        balanced=balanced_accuracy(accepted, refused) if unit else None,
        auc=None if area is None else auc_interval(area, len(right), len(wrong)),
    )


def balanced_accuracy(positive: Rate, negative: Rate) -> Interval | None:
    """The mean of two rates; None when one of them has nothing to count."""
    one, other = positive.interval, negative.interval
    return None if one is None or other is None else weighted_mean([(one, 1), (other, 1)])


def ranking(items: Sequence[Scored], incomplete: int = 0) -> Ranking | None:
    """The agreement of items with several scored candidates; None when no gold of theirs prefers anything."""
    judged = [(scores, gold, right) for scores, gold in items if (right := top_is_right(scores, gold)) is not None]
    if not judged:
        return None
    n = len(judged)
    return Ranking(
        right=Rate(hits=sum(right for _, _, right in judged), n=n),
        tied=Rate(hits=sum(_tied(scores, gold) for scores, gold, _ in judged), n=n),
        chance=sum(sum(g == max(gold) for g in gold) / len(gold) for _, gold, _ in judged) / n,
        silent=len(items) - n,
        incomplete=incomplete,
    )


def unit_scale(scores: Iterable[float]) -> bool:
    """Whether scores are read on a 0-1 scale: none of them lies outside it."""
    return all(0.0 <= score <= 1.0 for score in scores)


def single_pairs(rows: Iterable[ResultRow]) -> Iterator[tuple[float, float]]:
    """Score and gold of the verdicts on one candidate each."""
    for row in rows:
        scores, gold = row.ranking, row.own_gold
        if scores is not None and gold is not None and len(scores) == len(gold) == 1:
            yield scores[0], gold[0]


def of_single(rows: Iterable[ResultRow]) -> Accepting | None:
    """Agreement over the verdicts on one candidate each."""
    return accepting(list(single_pairs(rows)))


def of_ranked(rows: Iterable[ResultRow]) -> Ranking | None:
    """Agreement over the verdicts on all candidates of an item at once."""
    found: list[Scored] = []
    for row in rows:
        scores, gold = row.ranking, row.own_gold
        if scores is not None and gold is not None and 2 <= len(scores) == len(gold):
            found.append((scores, gold))
    return ranking(found)


def of_grouped(rows: Iterable[ResultRow]) -> Ranking | None:
    """Best of n out of judgments of one candidate each: their items put together again."""
    groups: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row.candidate is not None and row.gold is not None:
            groups.setdefault(row.item_id, []).append(row)
    found: list[Scored] = []
    incomplete = 0
    for group in groups.values():
        pairs = list(single_pairs(group))
        if len(pairs) < len(group):
            incomplete += 1
        elif len(pairs) > 1:
            found.append(([score for score, _ in pairs], [gold for _, gold in pairs]))
    return ranking(found, incomplete)


def _tied(scores: Sequence[float], gold: Sequence[float]) -> bool:
    top = {g for score, g in zip(scores, gold, strict=True) if score == max(scores)}
    return max(gold) in top and len(top) > 1


def agreement(row: ResultRow, *, unit: bool) -> bool | None:
    """Whether a verdict agrees with gold; None without gold, or where that is no yes-or-no question."""
    scores, gold = row.ranking, row.own_gold
    if scores is None or gold is None or len(scores) != len(gold):
        return None
    if len(scores) > 1:
        return top_is_right(scores, gold)
    return all(map(accepts, scores, gold)) if unit and set(gold) <= {0.0, 1.0} else None


def disagreements(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The verdicts of one judge that contradict gold, in the order of the rows."""
    every = list(rows)
    unit = unit_scale(score for row in every for score in row.scores or ())
    return [row for row in every if agreement(row, unit=unit) is False]
