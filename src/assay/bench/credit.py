"""What one answer is worth where some candidates are right and the others wrong: the rules for ties and failures.

Pure. Every benchmark that asks for the best candidate uses it; those that need the scores themselves take
``scores_of``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.core.errors import InputError
from assay.core.seeds import derive_order, derive_seed, digest
from assay.voting.ties import best_of

from .counting import Counting
from .unit import Answer, Judged, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The official worth of what is neither right nor wrong.

    ``tie``: right and wrong candidates share the best score: ``share`` = the share of right ones among them, ``wrong``
    = nothing. ``failure``: what a failed judgment is worth.
    """

    tie: Literal["share", "wrong"] = "wrong"
    failure: float = 0.0


WRONG = Rule()
"""The rule where the official code has none: nothing but the right answer counts."""


def right_of(unit: Unit) -> tuple[int, ...]:
    """The candidates with the highest gold."""
    gold = unit.item.gold
    if gold is None:
        raise ValueError(f"unit {unit.item.id!r} has no gold")
    return best_of(gold)


def answer_of(judged: Judged, counting: Counting) -> Answer:
    """The answer that counts: the lenient reading where that is asked for and there."""
    if counting.failures == "lenient" and judged.lenient is not None:
        return judged.lenient
    return judged.answer


def credit(judged: Judged, counting: Counting, rule: Rule = WRONG) -> float | None:
    """What a judged unit is worth, from 0 to 1; None = the rule for failures excludes it."""
    return worth(judged.unit, answer_of(judged, counting), counting, rule)


def worth(unit: Unit, answer: Answer, counting: Counting, rule: Rule = WRONG) -> float | None:
    """``credit`` of a given answer."""
    right = right_of(unit)
    if answer.failure is not None:
        return failed(counting, rule.failure)
    if answer.choice is not None:
        return float(answer.choice in right)
    winners = best_of(scores_of(unit, answer))
    share = sum(winner in right for winner in winners) / len(winners)
    if share in (0.0, 1.0):
        return share
    ties = rule.tie if counting.ties == "official" else counting.ties
    if ties == "random":
        order = derive_order(tie_seed(unit, counting), unit.item.n)
        return float(next(index for index in order if index in winners) in right)
    return share if ties == "share" else 0.0


def failed(counting: Counting, official: float = 0.0) -> float | None:
    """What a failed judgment is worth; None = the rule for failures excludes it."""
    if counting.failures == "excluded":
        return None
    return 0.0 if counting.failures == "strict" else official


def scores_of(unit: Unit, answer: Answer) -> tuple[float, ...]:
    """The scores of an answer that did not fail.

    Raises:
        InputError: it is a choice without scores, or of another number of candidates.
    """
    if answer.scores is None:
        raise InputError(
            f"{unit.item.id!r} of subset {unit.subset!r} needs a score for each candidate, and the answer is only a "
            "choice: run it with a judge that gives scores (pointwise, tokenprob, a reward model)"
        )
    if len(answer.scores) != unit.item.n:
        raise InputError(f"{unit.item.id!r} has {unit.item.n} candidates and {len(answer.scores)} scores")
    return answer.scores


def tie_seed(unit: Unit, counting: Counting) -> int:
    """The seed of a random draw among the tied: it follows from what was judged."""
    item = unit.item
    content = digest([[m.role, m.text] for m in item.messages] + [c.text for c in item.candidates])
    return derive_seed(content, "benchmark", 0, "tie", base=counting.seed)
