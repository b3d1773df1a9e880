"""Single labelled answers: the score and the label of a case, so that areas under the ROC curve can be taken. Pure."""

from __future__ import annotations

import math

from .counting import Counting
from .credit import answer_of, failed, scores_of, tie_seed
from .unit import Judged

SCORE, GOOD = "score", "good"
"""The components of a case: the judge's score, and whether the answer is good (1) or not (0)."""


def single_values(judged: Judged, counting: Counting) -> dict[str, float] | None:
    """Score and label of a single answer; None = the rule for failures excludes it.

    A failure takes the worst place: below all for a good answer, above all for a bad one. The area counts a tie of a
    good and a bad answer half, which is also the chance of a fair draw; ``wrong`` and ``random`` move a score to the
    next float below or above, so that equal ones are equal no more.
    """
    gold = judged.unit.item.gold
    if gold is None or len(gold) != 1:
        raise ValueError(f"unit {judged.unit.item.id!r} is no single labelled answer")
    good = gold[0] > 0
    answer = answer_of(judged, counting)
    if answer.failure is not None:
        if failed(counting) is None:
            return None
        return {SCORE: -math.inf if good else math.inf, GOOD: float(good)}
    score = scores_of(judged.unit, answer)[0]
    if counting.ties == "wrong" and good:
        score = math.nextafter(score, -math.inf)
    elif counting.ties == "random":
        score = math.nextafter(score, math.inf if tie_seed(judged.unit, counting) % 2 else -math.inf)
    return {SCORE: score, GOOD: float(good)}
