"""From the votes of one judgment to its outcome: failures dropped and counted, the meta RM's choice, reduced, settled.

The one place where votes become a decision: the scorer, replays and reports call it, so that they cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.core.types import Failure, FailureKind, Outcome, Reduce, Verdict, Vote

from .plan import VotePlan
from .reducers import reduce_votes
from .ties import best_of, choose


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """``kept``: indices (``Draw.vote``) of the votes that had a part in the outcome, in order."""

    outcome: Outcome
    kept: tuple[int, ...]


def decide(votes: Sequence[Vote], plan: VotePlan, how: Reduce, n: int) -> Decision:
    """What the votes about the same candidates come to; ties are still in it (``settle``).

    A single vote keeps its own outcome. Failures are dropped; ``too_few_votes`` when too few verdicts are left, and
    their own kind when all votes failed in the same way. Flags: ``dropped_votes`` beside those of the kept votes.

    Raises:
        ValueError: no votes.
    """
    if not votes:
        raise ValueError("there are no votes to decide by")
    ordered = sorted(votes, key=lambda vote: vote.draw.vote)
    if plan.k == 1:
        return Decision(outcome=_single(ordered[0].outcome, how, n), kept=_places(ordered[:1]))
    valid = [vote for vote in ordered if isinstance(vote.outcome, Verdict)]
    too_few = _too_few(ordered, valid, plan)
    if too_few is not None:
        return Decision(outcome=too_few, kept=())
    kept = sort_out(valid, plan.kept_by_meta)
    if not kept:
        first = next((vote.meta_failure for vote in valid if vote.meta_failure is not None), None)
        detail = f"none of {len(valid)} votes has a meta score" + (f" ({first.detail})" if first else "")
        return Decision(outcome=Failure(kind=FailureKind.META_ERROR, detail=detail), kept=())
    return Decision(outcome=_reduced(ordered, kept, how, n), kept=_places(kept))


def sort_out(votes: Sequence[Vote], k_meta: int | None) -> list[Vote]:
    """The ``k_meta`` votes with the highest meta logits, in the order of the votes; None keeps all.

    A vote whose meta score failed cannot be compared, so it is never kept; of two equal ones the earlier is.
    """
    if k_meta is None:
        return list(votes)
    scored = [(-vote.meta, vote.draw.vote, vote) for vote in votes if vote.meta is not None]
    best = sorted(scored, key=lambda entry: entry[:2])[:k_meta]
    return sorted((vote for _, _, vote in best), key=lambda vote: vote.draw.vote)


def settle(outcome: Outcome, plan: VotePlan, seed: int) -> Outcome:
    """The outcome of the whole item with its choice made: ties are flagged ``tie`` and settled as the plan says."""
    if not isinstance(outcome, Verdict) or outcome.scores is None or len(outcome.scores) < 2:
        return outcome
    choice = choose(outcome.scores, plan.ties, seed)
    if len(best_of(outcome.scores)) == 1:
        return replace(outcome, choice=choice)
    return replace(outcome, choice=choice, flags=tuple(dict.fromkeys((*outcome.flags, "tie"))))


def _single(outcome: Outcome, how: Reduce, n: int) -> Outcome:
    """One vote as it is; where votes are counted, with its ballot as scores, so that a tie can be settled."""
    if how != "majority" or not isinstance(outcome, Verdict) or n < 2:
        return outcome
    return replace(outcome, scores=reduce_votes(how, [outcome], n))


def _reduced(drawn: Sequence[Vote], kept: Sequence[Vote], how: Reduce, n: int) -> Verdict:
    verdicts = [vote.outcome for vote in kept if isinstance(vote.outcome, Verdict)]
    flags = [flag for verdict in verdicts for flag in verdict.flags]
    if any(isinstance(vote.outcome, Failure) for vote in drawn):
        flags.append("dropped_votes")
    masses = [verdict.mass for verdict in verdicts if verdict.mass is not None]
    return Verdict(
        scores=reduce_votes(how, verdicts, n),
        flags=tuple(dict.fromkeys(flags)),
        mass=min(masses) if len(masses) == len(verdicts) else None,
    )


def _too_few(drawn: Sequence[Vote], valid: Sequence[Vote], plan: VotePlan) -> Failure | None:
    needed = plan.min_valid if plan.min_valid is not None else (len(drawn) + 1) // 2
    if len(valid) >= needed:
        return None
    failed = [vote.outcome for vote in drawn if isinstance(vote.outcome, Failure)]
    kinds = Counter(str(failure.kind) for failure in failed)
    if not valid and len(kinds) == 1:
        return replace(failed[0], detail=f"all {len(drawn)} votes failed: {failed[0].detail}")
    counted = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    detail = f"{len(valid)} of {len(drawn)} votes hold a verdict, {needed} are needed ({counted or 'no failures'})"
    return Failure(kind=FailureKind.TOO_FEW_VOTES, detail=detail)


def _places(votes: Sequence[Vote]) -> tuple[int, ...]:
    return tuple(vote.draw.vote for vote in votes)
