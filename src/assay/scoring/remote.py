"""``RemoteScorer``: a judge service behind HTTP, with the face of a local scorer.

The judge that is configured here and the one that the service offers under that name must be the same (their identities
say so); the seeds then are too, so that a remote verdict equals the local one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from assay.client import GenRMClient, GenRMError
from assay.core.codec import completions_from_json
from assay.core.deadline import Deadline
from assay.core.errors import InputError, StartError
from assay.core.types import Draw, Failure, FailureKind, Item, Outcome, Usage, Verdict, Vote
from assay.judges.base import Judge, content_hash
from assay.judges.parts import parts
from assay.voting.draws import make_draw
from assay.wire.score import ScoreReply, VerdictReply, VoteReply, to_outcome

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

    async def start(self) -> RunFacts:
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
        return RunFacts(model=str(named.get("model_path", "")), weight_version=str(named.get("weight_version", "")))

    async def close(self) -> None:
        await self._client.close()

    async def judge(self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0) -> Judgment:
        """Judge the whole item in one call; an answer that did not come is a ``Failure`` of its kind.

        Raises:
            InputError: the service refuses what would be refused for every item (unknown judge or route key, no right).
        """
        asked = [
            _ask(judge, piece, seed, place if judge.per_candidate else None)
            for place, piece in enumerate(parts(judge, item))
        ]
        return await self._judge(judge, item, asked, deadline, seed)

    async def judge_part(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, candidate: int | None = None
    ) -> Judgment:
        """One judgment of one part of an item. Raises InputError as ``judge`` does."""
        return await self._judge(judge, item, [_ask(judge, item, seed, candidate)], deadline, seed)

    async def _judge(self, judge: Judge, item: Item, asked: Sequence[Vote], deadline: Deadline, seed: int) -> Judgment:
        begin = time.perf_counter()
        try:
            reply = await self._client.score(
                judge.name, item, route_key=self._route_key, seed=seed, deadline_s=max(0.001, deadline.left)
            )
        except GenRMError as error:
            outcome: Outcome = _failure(error)
            votes = [replace(vote, outcome=outcome) for vote in asked]
        else:
            outcome = to_outcome(reply)
            votes = _votes(judge, reply, asked)
        seconds = time.perf_counter() - begin
        return Judgment(
            item=item,
            judge=judge.name,
            judge_identity=judge.identity,
            outcome=outcome,
            votes=tuple(replace(vote, latency_s=seconds) for vote in votes),
        )


def _ask(judge: Judge, item: Item, seed: int, candidate: int | None) -> Vote:
    """The vote as it is before its answer: what will be asked there, known here because nothing about it is chance."""
    content = content_hash(judge, item)
    draw = make_draw(judge.asks, content, item.n, vote=0, base=seed)
    return Vote(
        draw=draw,
        outcome=_UNANSWERED,
        candidate=candidate,
        content_hash=content,
        prompt=prompt_text(judge.plan(item, draw)),
    )


def _votes(judge: Judge, reply: ScoreReply, asked: Sequence[Vote]) -> list[Vote]:
    """The votes with their answers.

    Raises:
        InputError: the service's judge of that name is another one.
    """
    told = reply.verdict if isinstance(reply, VerdictReply) else reply.failure
    if told.judge != judge.identity:
        raise InputError(
            f"the service's judge {judge.name!r} is not the one configured here ({told.judge} instead of "
            f"{judge.identity}): give both the same options, e.g. --choices, --lenient, --language"
        )
    return [_answered(vote, asked, told.model, told.weight_version) for vote in told.votes]


def _answered(told: VoteReply, asked: Sequence[Vote], model: str, weight_version: str) -> Vote:
    mine = asked[told.candidate or 0]
    outcome: Outcome
    if told.failure is not None:
        outcome = Failure(kind=told.failure, detail=told.detail or "", text=told.text)
    else:
        scores = None if told.scores is None else tuple(told.scores)
        outcome = Verdict(scores=scores, choice=told.choice, flags=tuple(told.flags), text=told.text, mass=told.mass)
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
