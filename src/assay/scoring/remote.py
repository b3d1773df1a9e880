"""``RemoteScorer``: a judge service behind HTTP, with the face of a local scorer.

The judge that is configured here and the one that the service offers under that name must be the same (their identities
say so); the seeds then are too, so that a remote verdict equals the local one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from assay.client import GenRMClient, GenRMError
from assay.core.codec import completions_from_json
from assay.core.deadline import Deadline
from assay.core.errors import InputError, StartError
from assay.core.types import Draw, Failure, FailureKind, Item, Outcome, Usage, Verdict, Vote
from assay.judges.base import Judge, content_hash
from assay.judges.parts import parts
from assay.voting.draws import make_draw
from assay.voting.plan import VotePlan
from assay.wire.genrm import DEFAULT_KEY
from assay.wire.score import ScoreReply, VerdictReply, VoteReply, to_outcome
from assay.wire.status import MetricsReply

from .ballot import Ballot
from .batch import RunFacts
from .judgment import Judgment
from .records import prompt_text

_REFUSED = frozenset({401, 403, 404, 405, 422})
"""Statuses that would be the same for every further item: the run stops instead of failing each."""

_TOO_LARGE = 413

_UNANSWERED = Failure(kind=FailureKind.ENGINE_ERROR, detail="not answered yet")


class RemoteScorer:
    """Judges through ``POST /score``. Owns the client it is given: closing one closes the other."""

    def __init__(self, client: GenRMClient, *, route_key: str | None = None) -> None:
        self._client = client
        self._route_key = route_key
        self._parameters: int | None = None

    async def start(self, plan: VotePlan | None = None) -> RunFacts:  # noqa: ARG002
        """Check that the service is there and ready.

        Raises:
            StartError: it is not reachable, or says that it is unhealthy.
        """
        try:
            health = await self._client.health()
            metrics = await self._client.metrics()
        except GenRMError as error:
            raise StartError(f"no judge service at {self._client.base_url}: {error}. Start one: assay serve") from error
        if health.status != "healthy":
            reason = health.error or health.state
            raise StartError(f"the judge service at {self._client.base_url} is unhealthy: {reason}")
        named = (metrics.get("instances") or {}).get(self._route_key or "", metrics)
        self._parameters = named.get("parameters")
        return RunFacts(model=str(named.get("model_path", "")), weight_version=str(named.get("weight_version", "")))

    async def close(self) -> None:
        await self._client.close()

    async def offers(self, judge: Judge) -> None:
        """Check, at no cost, that the service has this judge under the same options, and the instance of the route key.

        Raises:
            InputError: it has not; the message lists what it has. StartError: it is not reachable.
        """
        url = self._client.base_url
        try:
            told = MetricsReply.model_validate(await self._client.metrics())
        except (GenRMError, ValidationError) as error:
            raise StartError(f"the judge service at {url} does not say what it offers: {error}") from error
        keys = list(told.instances or {DEFAULT_KEY: None})
        if self._route_key is not None and self._route_key not in keys:
            raise InputError(
                f"the judge service at {url} has no instance {self._route_key!r} (route_key); it has {keys}"
            )
        if self._route_key is None and not judge.rule and told.instances is not None and len(keys) > 1:
            raise InputError(f"the judge service at {url} has several instances: name one of {keys} (route_key)")
        if told.judges is None:
            return
        if judge.name not in told.judges:
            raise InputError(f"the judge service at {url} has no judge {judge.name!r}; it has {list(told.judges)}")
        if told.judges[judge.name] != judge.identity:
            raise _another(judge, told.judges[judge.name])

    async def judge(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, plan: VotePlan | None = None
    ) -> Judgment:
        """Judge the whole item in one call; an answer that did not come is a ``Failure`` of its kind.

        Raises:
            InputError: the service refuses what would be refused for every item (unknown judge, meta RM or route key,
                no right), or the plan asks for what the judge cannot give.
        """
        pieces = [(piece, place if judge.per_candidate else None) for place, piece in enumerate(parts(judge, item))]
        return await self._judge(_Task(judge=judge, item=item, pieces=pieces, seed=seed, plan=plan), deadline)

    async def judge_part(
        self,
        judge: Judge,
        item: Item,
        deadline: Deadline,
        *,
        seed: int = 0,
        candidate: int | None = None,
        plan: VotePlan | None = None,
    ) -> Judgment:
        """One judgment of one part of an item. Raises InputError as ``judge`` does."""
        return await self._judge(
            _Task(judge=judge, item=item, pieces=[(item, candidate)], seed=seed, plan=plan), deadline
        )

    async def _judge(self, task: _Task, deadline: Deadline) -> Judgment:
        judge, item = task.judge, task.item
        ballot = None if task.plan is None else Ballot.of(task.plan, judge, item.n)
        begin = time.perf_counter()
        try:
            reply = await self._client.score(
                judge.name,
                item,
                route_key=self._route_key,
                seed=task.seed,
                plan=task.plan,
                deadline_s=max(0.001, deadline.left),
            )
        except GenRMError as error:
            outcome: Outcome = _failure(error)
            votes = [replace(task.asked(place, 0), outcome=outcome) for place in range(len(task.pieces))]
        else:
            outcome = to_outcome(reply)
            votes = _votes(task, reply)
        seconds = time.perf_counter() - begin
        return Judgment(
            item=item,
            judge=judge.name,
            judge_identity=judge.identity,
            outcome=outcome,
            votes=tuple(replace(vote, latency_s=seconds) for vote in votes),
            decisions=_decisions(votes, ballot, task.seed),
            voting={} if ballot is None else ballot.told,
            parameters=None if judge.rule else self._parameters,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One judgment to ask for; what will be asked there is known here, because nothing about it is chance."""

    judge: Judge
    item: Item
    pieces: Sequence[tuple[Item, int | None]]
    seed: int
    plan: VotePlan | None

    def asked(self, place: int, vote: int) -> Vote:
        """A vote about one of the pieces as it is before its answer."""
        judge, (piece, candidate) = self.judge, self.pieces[place]
        orders = "shuffle" if self.plan is None else self.plan.orders
        content = content_hash(judge, piece)
        draw = make_draw(judge.asks, content, piece.n, vote=vote, base=self.seed, orders=orders)
        return Vote(
            draw=draw,
            outcome=_UNANSWERED,
            candidate=candidate,
            content_hash=content,
            prompt=prompt_text(judge.plan(piece, draw)),
        )


def _decisions(votes: Sequence[Vote], ballot: Ballot | None, seed: int) -> dict[int | None, Outcome]:
    """What the votes about each candidate come to; the service decided by the same function."""
    if ballot is None:
        return {vote.candidate: vote.outcome for vote in votes}
    groups: dict[int | None, list[Vote]] = {}
    for vote in votes:
        groups.setdefault(vote.candidate, []).append(vote)
    return {candidate: ballot.decided(group, seed)[1] for candidate, group in groups.items()}


def _votes(task: _Task, reply: ScoreReply) -> list[Vote]:
    """The votes with their answers.

    Raises:
        InputError: the service's judge of that name is another one.
    """
    judge = task.judge
    told = reply.verdict if isinstance(reply, VerdictReply) else reply.failure
    if told.judge != judge.identity:
        raise _another(judge, told.judge)
    return [_answered(vote, task, told.model, told.weight_version) for vote in told.votes]


def _another(judge: Judge, theirs: str) -> InputError:
    return InputError(
        f"the service's judge {judge.name!r} is not the one configured here ({theirs} instead of "
        f"{judge.identity}): give both the same options, e.g. --choices, --lenient, --language"
    )


def _answered(told: VoteReply, task: _Task, model: str, weight_version: str) -> Vote:
    mine = task.asked(told.candidate or 0, told.vote)
    outcome: Outcome
    if told.failure is not None:
        outcome = Failure(kind=told.failure, detail=told.detail or "", text=told.text)
    else:
        outcome = Verdict(
            scores=None if told.scores is None else tuple(told.scores),
            choice=told.choice,
            flags=tuple(told.flags),
            text=told.text,
            mass=told.mass,
            breakdown=tuple(told.breakdown),
        )
    return replace(
        mine,
        draw=Draw(vote=told.vote, seed=told.seed, order=tuple(told.order)),
        outcome=outcome,
        completions=completions_from_json(told.completions),
        usage=Usage(**told.usage.model_dump()),
        cached=told.cached,
        reasks=told.reasks,
        model=model,
        weight_version=weight_version,
        kept=told.kept,
        meta=told.meta,
        meta_failure=told.meta_failure and Failure(kind=told.meta_failure, detail=told.meta_detail or ""),
    )


def _failure(error: GenRMError) -> Failure:
    """What a refusal means for one item.

    Raises:
        InputError: it would be the same for every item.
    """
    if error.status in _REFUSED:
        raise InputError(f"the judge service refuses: {error}") from error
    kind = FailureKind.BAD_REQUEST if error.status == _TOO_LARGE else error.kind
    return Failure(kind=kind, detail=error.detail, retry_after=error.retry_after)
