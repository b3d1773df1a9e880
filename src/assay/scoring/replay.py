"""Recorded votes read, kept and decided again, under another parser or plan, without asking the judge. Pure.

A vote of a replay is a recorded one: the texts are those that the engine wrote then. So what is asked must be the same
(the seeds say whether it is), and a plan may need no vote that was not drawn. Decisions are made where the scorer makes
them (``Ballot.decided``), so that a replay under the recorded plan is the record.

A vote that was asked again, because its first text held no verdict, is read from its last text.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.errors import InputError
from assay.core.seeds import derive_seed
from assay.core.types import Item, Outcome, Vote
from assay.data import ResultRow, item_from_row
from assay.data.decisions import by_judgment, to_vote
from assay.judges.base import Judge, content_hash
from assay.voting.draws import make_draw
from assay.voting.plan import Budget, VotePlan
from assay.voting.spoken import plan_from_json

from .ballot import Ballot
from .judgment import Judgment
from .records import decided_anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded judgment. ``rows`` and ``votes`` are the same votes, in order; ``plan`` is None for a plain one.

    ``item``: as it was recorded. ``judged``: what the judge looked at, which may be one candidate of it.
    """

    item: Item
    judged: Item
    rows: tuple[ResultRow, ...]
    votes: tuple[Vote, ...]
    plan: VotePlan | None

    @property
    def first(self) -> ResultRow:
        return self.rows[0]

    @property
    def where(self) -> str:
        """Which judgment it is, for messages."""
        row = self.first
        return (
            f"item {row.item_id!r}" if row.candidate is None else f"item {row.item_id!r}, candidate {row.candidate + 1}"
        )


def recordings(rows: Iterable[ResultRow]) -> list[Recording]:
    """The recorded judgments, in their order.

    Raises:
        InputError: none, rows of several judges, rows without their item, or a judgment that a kill cut off.
    """
    groups = by_judgment(rows)
    if not groups:
        raise InputError("the recording holds no judgment")
    judges = list(dict.fromkeys((group[0].judge, group[0].judge_identity) for group in groups))
    if len(judges) > 1:
        told = ", ".join(identity or name for name, identity in judges)
        raise InputError(f"the recording holds judgments of several judges ({told}): replay those of one")
    plans: dict[str, VotePlan] = {}
    return [_recording(group, plans) for group in groups]


def recorded_plan(recorded: Sequence[Recording]) -> VotePlan | None:
    """The plan of all of them; None where they are plain.

    Raises:
        InputError: they have several plans.
    """
    plans = list(dict.fromkeys(recording.plan for recording in recorded))
    if len(plans) > 1:
        raise InputError(f"the recording holds judgments under {len(plans)} plans of voting: replay those of one")
    return plans[0]


def read_again(recorded: Iterable[Recording], judge: Judge) -> list[Recording]:
    """The recordings with their votes as ``judge`` reads them. Votes without a text (a timeout) stay what they are.

    Raises:
        InputError: the judge asks something else than was asked, so that the texts are no answers to it.
    """
    found: list[Recording] = []
    for recording in recorded:
        _check_asked(judge, recording)
        if judge.identity != recording.first.judge_identity:
            votes = tuple(_read(judge, recording.judged, vote) for vote in recording.votes)
            recording = replace(recording, votes=votes)
        found.append(recording)
    return found


def replay(recorded: Iterable[Recording], judge: Judge, plan: VotePlan | None) -> Iterator[Judgment]:
    """The judgments that the recorded votes are under ``plan``, in the same order.

    Raises:
        InputError: the plan needs votes that were not recorded, another order of candidates, or what this judge cannot
            give; plain judgments are no votes, and the other way round.
    """
    for recording in recorded:
        yield _replayed(recording, judge, plan)


def replayed_rows(recorded: Sequence[Recording], judgments: Iterable[Judgment]) -> list[ResultRow]:
    """The rows of replayed judgments (one for each of ``recorded``): those recorded, with what is new."""
    return [
        row
        for recording, judgment in zip(recorded, judgments, strict=True)
        for row in decided_anew(recording.rows, judgment)
    ]


def resampled(
    recorded: Sequence[Recording], judge: Judge, plan: VotePlan, *, times: int, base: int = 0
) -> Iterator[list[Outcome]]:
    """The bootstrap: ``times`` times, ``plan.k`` of each judgment's votes, drawn with replacement, and their outcome.

    Which votes are drawn follows from the judged content and ``base``, so that it is the same again.

    Raises:
        InputError: the plan stops early, which a resampled order of votes means nothing to; as ``replay``.
    """
    if plan.stop is not None:
        raise InputError("a bootstrap draws all k votes: leave the stopping rule out (its votes have an order)")
    ballots = [_ballot(recording, judge, plan) for recording in recorded]
    for recording in recorded:
        if not _cut_short(recording) and len(recording.votes) < plan.k:
            raise _missing(recording, plan)
    draws = [
        random.Random(derive_seed(recording.first.content_hash, "", 0, "bootstrap", base=base))
        for recording in recorded
    ]
    for _ in range(times):
        yield [
            ballot.decided(draw.choices(recording.votes, k=plan.k), recording.first.base_seed)[1]
            for recording, ballot, draw in zip(recorded, ballots, draws, strict=True)
        ]


def _recording(group: Sequence[ResultRow], plans: dict[str, VotePlan]) -> Recording:
    first = group[0]
    if not first.item:
        raise InputError(f"the recording does not hold item {first.item_id!r} itself, so it cannot be read again")
    if len(group) < first.drawn or group[-1].vote != len(group) - 1:
        raise InputError(
            f"item {first.item_id!r}: {len(group)} of its {first.drawn} votes are there; finish the run that wrote them"
        )
    item = item_from_row(first.item)
    whole = first.candidate is None or item.n == 1
    return Recording(
        item=item,
        judged=item if whole else item.only(first.candidate or 0),
        rows=tuple(group),
        votes=tuple(to_vote(row) for row in group),
        plan=_plan(first.voting, plans) if first.voting else None,
    )


def _plan(told: Mapping[str, Any], known: dict[str, VotePlan]) -> VotePlan:
    key = repr(sorted(told.items()))
    if key not in known:
        known[key] = plan_from_json(told)
    return known[key]


def _check_asked(judge: Judge, recording: Recording) -> None:
    """Content and seeds follow from what is asked, so that equal ones say that it was the same."""
    first = recording.first
    content = content_hash(judge, recording.judged)
    draw = make_draw(judge.asks, content, recording.judged.n, vote=first.vote, base=first.base_seed)
    if content != first.content_hash or draw.seed != first.seed:
        raise InputError(
            f"{recording.where}: judge {judge.name!r} ({judge.asks}) asks something else than {first.judge_identity!r} "
            "was asked: a replay can change how replies are read, not the prompt. Give the judge the options that it "
            "was recorded with (--choices, --mode, --language, --judge-options)"
        )


def _read(judge: Judge, item: Item, vote: Vote) -> Vote:
    return replace(vote, outcome=judge.read(item, vote.draw, vote.completions)) if vote.completions else vote


def _replayed(recording: Recording, judge: Judge, plan: VotePlan | None) -> Judgment:
    first = recording.first
    if plan is None:
        if recording.plan is not None:
            raise InputError(f"{recording.where} was voted on: replay it under a plan of voting")
        votes, outcome, told = recording.votes, recording.votes[0].outcome, {}
    else:
        ballot = _ballot(recording, judge, plan)
        votes, outcome = ballot.decided(_taken(recording, ballot), first.base_seed)
        told = ballot.told
    return Judgment(
        item=recording.item,
        judge=judge.name,
        judge_identity=judge.identity,
        outcome=outcome,
        votes=tuple(votes),
        decisions={first.candidate: outcome},
        voting=told,
        sampling=first.sampling,
        parameters=first.parameters,
    )


def _ballot(recording: Recording, judge: Judge, plan: VotePlan) -> Ballot:
    if recording.plan is None:
        raise InputError(
            f"{recording.where} is one plain judgment and no vote (they differ in temperature): it can be read by "
            "another parser, not voted on. Judge with --k to have votes"
        )
    if plan.orders != recording.plan.orders:
        raise InputError(
            f"orders {plan.orders!r}: the votes were drawn with orders {recording.plan.orders!r}, and a replay shows "
            "nothing anew"
        )
    return Ballot.of(plan, judge, recording.item.n)


def _taken(recording: Recording, ballot: Ballot) -> Sequence[Vote]:
    """The votes that the plan would have drawn."""
    plan, votes = ballot.plan, recording.votes
    if _cut_short(recording):
        return votes[: plan.k]
    if isinstance(plan.stop, Budget) and plan.stop.seconds is not None:
        if recording.plan is None or (plan.stop, plan.k) != (recording.plan.stop, recording.plan.k):
            raise InputError("a budget of seconds cannot be replayed: how long votes take is not a matter of texts")
        return votes
    if plan.stop is not None:
        for n in range(1, min(plan.k, len(votes)) + 1):
            if ballot.enough(votes[:n], 0.0):
                return votes[:n]
    if len(votes) < plan.k:
        raise _missing(recording, plan)
    return votes[: plan.k]


def _cut_short(recording: Recording) -> bool:
    """Whether all of the judgment failed before its votes were drawn (a service that did not answer)."""
    plan = recording.plan
    return plan is not None and plan.stop is None and len(recording.votes) < plan.k


def _missing(recording: Recording, plan: VotePlan) -> InputError:
    there = len(recording.votes)
    why = "" if recording.plan is None or recording.plan.stop is None else ", as drawing stopped early"
    return InputError(
        f"{recording.where}: the plan needs up to {plan.k} votes, {there} are recorded{why}. "
        f"Replay with --k {there} or fewer, or judge again with more votes"
    )
