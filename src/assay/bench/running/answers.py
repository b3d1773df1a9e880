"""From recorded votes to judged units, under any plan that the votes are enough for. Pure.

Votes become a decision where the scorer decides (``scoring.ballot``), so that a run and its replays cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.core.types import Failure, FailureKind, Outcome, Vote
from assay.judges.base import Judge
from assay.judges.parts import join
from assay.scoring.ballot import Ballot
from assay.scoring.runfile import Subject
from assay.voting.plan import VotePlan
from assay.voting.ties import best_of

from ..unit import Answer, Judged, Unit
from .asked import Asked
from .recorded import Recorded

ORDERS = ((0, 1), (1, 0))
"""The orders of a pair, as ``Judged.by_order`` has them."""

Heard = Mapping[Subject, Sequence[Vote]]
Ballots = Callable[[VotePlan, int], Ballot]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How votes are made into answers. ``both``: successive votes showed the two orders of a pair."""

    judge: Judge
    plan: VotePlan
    seed: int
    both: bool = False
    lenient: bool = True
    """Whether what the lenient parser read is made into answers too, where it read the votes."""


def judged_units(units: Sequence[Unit], asked: Asked, recorded: Recorded, how: Reading) -> list[Judged]:
    """The units and their answers; one without any vote is left out, and makes its case incomplete.

    A unit that the judge could not take is a failed judgment (``bad_request``).
    """
    found: list[Judged] = []
    ballots = _ballots(how)
    for unit in units:
        if unit.item.id in asked.refused:
            found.append(Judged(unit=unit, answer=Answer(failure=FailureKind.BAD_REQUEST)))
            continue
        subjects = asked.subjects[unit.item.id]
        if all(recorded.votes.get(subject) for subject in subjects):
            found.append(_judged(unit, subjects, recorded, how, ballots))
    return found


def _judged(
    unit: Unit,
    subjects: Sequence[Subject],
    recorded: Recorded,
    how: Reading,
    ballots: Ballots,
) -> Judged:
    def answer(heard: Heard, plan: VotePlan) -> Answer:
        ballot = ballots(plan, unit.item.n)
        outcomes = [ballot.outcome(heard[subject][: plan.k], how.seed) for subject in subjects]
        return _answer(join(outcomes), ballot)

    def by_order(heard: Heard) -> tuple[Answer, ...]:
        if not how.both or len(subjects) != 1:
            return ()
        (subject,) = subjects
        own = list(heard[subject][: how.plan.k])
        parts = [[vote for vote in own if vote.draw.order == order] for order in ORDERS]
        # A judgment that failed before all votes were drawn (a service that did not answer) failed in both orders.
        return tuple(answer({subject: part or own}, _half(how.plan)) for part in parts)

    lenient = recorded.lenient if how.lenient and recorded.lenient else None
    return Judged(
        unit=unit,
        answer=answer(recorded.votes, how.plan),
        by_order=by_order(recorded.votes),
        lenient=None if lenient is None else answer(lenient, how.plan),
        lenient_by_order=() if lenient is None else by_order(lenient),
    )


def _answer(outcome: Outcome, ballot: Ballot) -> Answer:
    if isinstance(outcome, Failure):
        return Answer(failure=outcome.kind)
    if outcome.scores is None:
        return Answer(choice=outcome.choice) if outcome.choice is not None else Answer(failure=FailureKind.PARSE_ERROR)
    best = best_of(outcome.scores)
    # Counted votes are no scores of the candidates: they say which is best, or that several are.
    if ballot.how == "majority" and len(outcome.scores) > 1 and len(best) == 1:
        return Answer(choice=best[0])
    return Answer(scores=outcome.scores)


def _half(plan: VotePlan) -> VotePlan:
    """The plan of the votes in one of the two orders."""
    k = max(1, plan.k // 2)
    return replace(
        plan,
        k=k,
        k_meta=None if plan.k_meta is None else max(1, plan.k_meta // 2),
        min_valid=None if plan.min_valid is None else min(k, plan.min_valid),
    )


def _ballots(how: Reading) -> Ballots:
    """Ballots by plan and number of candidates, each made once."""
    made: dict[tuple[VotePlan, int], Ballot] = {}

    def ballot(plan: VotePlan, n: int) -> Ballot:
        if (plan, n) not in made:
            made[plan, n] = Ballot.of(plan, how.judge, n)
        return made[plan, n]

    return ballot
