"""An item as the judgments that a judge makes of it, and the outcomes of those as one outcome of the item."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Item, Outcome, Verdict

from .base import Judge


def parts(judge: Judge, item: Item) -> tuple[Item, ...]:
    """The item itself, or (``judge.per_candidate``) one item per candidate, in order.

    Raises:
        InputError: the item has no candidates.
    """
    if item.n == 0:
        raise InputError(f"item {item.id!r} has no candidates: there is nothing to judge")
    return tuple(item.only(index) for index in range(item.n)) if judge.per_candidate else (item,)


def join(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of an item out of those of its ``parts``, in order; a single one is returned as it is.

    Verdicts: scores and breakdowns in order, flags united, the smallest mass, texts joined by a blank line. Any
    failure: a failure of the first failing kind, which names the candidates; the scores of a few of n candidates are no
    verdict on the item.

    Raises:
        InputError: there are no outcomes.
    """
    if not outcomes:
        raise InputError("no outcomes to join: an item without candidates cannot be judged")
    if len(outcomes) == 1:
        return outcomes[0]
    checked = [_scored(outcome) for outcome in outcomes]
    failures = [(place, outcome) for place, outcome in enumerate(checked, 1) if isinstance(outcome, Failure)]
    text = "\n\n".join(outcome.text for outcome in outcomes)
    if failures:
        place, first = failures[0]
        detail = f"candidate {place} of {len(outcomes)}: {first.detail}"
        if len(failures) > 1:
            others = ", ".join(str(other) for other, _ in failures[1:])
            detail += f"; {len(failures)} of {len(outcomes)} failed (also {others})"
        return Failure(kind=first.kind, detail=detail, text=text)
    verdicts = [outcome for outcome in checked if isinstance(outcome, Verdict)]
    masses = [verdict.mass for verdict in verdicts if verdict.mass is not None]
    breakdown = tuple(own for verdict in verdicts for own in verdict.breakdown)
    return Verdict(
        scores=tuple(score for verdict in verdicts for score in verdict.scores or ()),
        flags=tuple(dict.fromkeys(flag for verdict in verdicts for flag in verdict.flags)),
        text=text,
        mass=min(masses) if len(masses) == len(verdicts) else None,
        breakdown=breakdown if len(breakdown) == len(verdicts) else (),
    )


def _scored(outcome: Outcome) -> Outcome:
    """The outcome, or a failure when it is a verdict without exactly one score: such a one cannot be joined."""
    if isinstance(outcome, Verdict) and (outcome.scores is None or len(outcome.scores) != 1):
        detail = f"expected one score for one candidate, got {outcome.scores!r}"
        return Failure(kind=FailureKind.PARSE_ERROR, detail=detail, text=outcome.text)
    return outcome
