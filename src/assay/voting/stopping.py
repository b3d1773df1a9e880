"""When to draw no more votes. Pure: a function of the votes so far.

``certain``: the votes left cannot change the decision. ``confident``: they hardly ever do. ``budget``: the votes so far
have cost what they may. All look at votes in the order of their draws, so that what is decided depends neither on which
vote comes back first nor on how many are in flight. Does not own: the drawing (``scoring``).
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import InputError
from assay.core.types import Reduce, Verdict, Vote

from .certain import is_certain
from .confident import is_confident
from .plan import Budget, Confident, VotePlan


def enough(
    plan: VotePlan,
    votes: Sequence[Vote],
    *,
    how: Reduce,
    n: int,
    scale: tuple[float, float] | None,
    elapsed_s: float,
) -> bool:
    """Whether to draw no more.

    Args:
        plan: its ``stop`` says by which rule; None = all ``k`` are drawn, and the answer is always False.
        votes: the first ones, without a gap, in the order of their draws, failures included.
        how: how they become one (``VotePlan.reducer``). n: candidates of the judgment.
        scale: the judge's least and highest score. elapsed_s: seconds since the first vote was asked for.

    Where votes come back together, ask about each prefix in turn and keep the first that is enough: what is decided
    then does not depend on their timing. Never True before there are as many verdicts as the decision needs:
    ``min_valid``, or half of the votes so far (of all ``k`` for what is called certain); a budget waits for
    ``min_valid`` alone.
    """
    if plan.stop is None or not votes:
        return False
    verdicts = [vote.outcome for vote in votes if isinstance(vote.outcome, Verdict)]
    if len(verdicts) < (plan.min_valid or 0):
        return False
    if isinstance(plan.stop, Budget):
        return _is_spent(plan.stop, votes, elapsed_s)
    left = plan.k - len(votes)
    if _holds_for_all(plan, verdicts) and is_certain(verdicts, left, how=how, n=n, scale=scale):
        return True
    if not isinstance(plan.stop, Confident) or 2 * len(verdicts) < len(votes):
        return False
    return is_confident(verdicts, left, how=how, n=n, delta=plan.stop.delta)


def check_stop(plan: VotePlan, *, judge: str, how: Reduce, n: int, scale: tuple[float, float] | None) -> None:
    """Whether the plan's rule can be applied to what the judge says.

    Raises:
        InputError: there is no decision to be certain about, no bound on a vote, or no test for the reducer.
    """
    if plan.stop is None or isinstance(plan.stop, Budget):
        return
    name = type(plan.stop).__name__.lower()
    instead = "use stop 'budget', or none"
    if n == 1 and scale != (0.0, 1.0):
        raise InputError(
            f"stop {name!r} needs a decision, and judge {judge!r} scores a single candidate here; only on the scale "
            f"from 0 to 1 is there one (above or below 1/2): {instead}"
        )
    if how != "majority" and scale is None:
        raise InputError(
            f"stop {name!r} with reduce {how!r} needs the least and the highest score of a vote, and judge {judge!r} "
            f"has no scale: {instead}"
        )
    if how == "median" and name == "confident":
        raise InputError("stop 'confident' has no test for reduce 'median': use stop 'certain', or reduce 'mean'")


def _holds_for_all(plan: VotePlan, verdicts: Sequence[Verdict]) -> bool:
    """Whether there are verdicts enough even if every vote left should fail."""
    return len(verdicts) >= (plan.min_valid if plan.min_valid is not None else (plan.k + 1) // 2)


def _is_spent(budget: Budget, votes: Sequence[Vote], elapsed_s: float) -> bool:
    if budget.seconds is not None and elapsed_s >= budget.seconds:
        return True
    tokens = sum(vote.usage.prompt_tokens + vote.usage.completion_tokens for vote in votes)
    return budget.tokens is not None and tokens >= budget.tokens
