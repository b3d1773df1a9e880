"""``RemoteScorer``: a judge service behind HTTP, with the face of a local scorer.

The judge that is configured here and the one that the service offers under that name must be the same (their identities
say so); the seeds then are too, so that a remote verdict equals the local one.
"""

from __future__ import annotations

import time

from assay.client import GenRMClient, GenRMError
from assay.core.deadline import Deadline
from assay.core.errors import InputError, StartError
from assay.core.types import Draw, Failure, FailureKind, Item, Outcome, Usage, Vote
from assay.judges.base import Judge, content_hash
from assay.wire.score import ScoreReply, VerdictReply, to_outcome

from .batch import ModelFacts
from .judgment import Judgment
from .records import prompt_text
from .scorer import make_draw

_REFUSED = frozenset({400, 401, 403, 404, 405, 413, 422})
"""Statuses that would be the same for every further item: the run stops instead of failing each."""


class RemoteScorer:
    """Judges through ``POST /score``. Owns the client it is given: closing one closes the other."""

    def __init__(self, client: GenRMClient, *, route_key: str | None = None) -> None:
        self._client = client
        self._route_key = route_key

    async def start(self) -> ModelFacts:
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
            raise StartError(
                f"the judge service at {self._client.base_url} is unhealthy: {health.error or health.state}"
            )
        named = (metrics.get("instances") or {}).get(self._route_key or "", metrics)
        return ModelFacts(model=str(named.get("model_path", "")), weight_version=str(named.get("weight_version", "")))

    async def close(self) -> None:
        await self._client.close()

    async def judge_part(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, candidate: int | None = None
    ) -> Judgment:
        """One judgment; an answer that did not come is a ``Failure`` of its kind.

        Raises:
            InputError: the service refuses what would be refused for every item (unknown judge or route key, no right).
        """
        begin = time.perf_counter()
        content = content_hash(judge, item)
        draw = make_draw(judge, content, item.n, vote=0, base=seed)
        facts = ModelFacts(model="", weight_version="")
        usage, cached = Usage(), False
        try:
            reply = await self._client.score(
                judge.name, item, route_key=self._route_key, seed=seed, deadline_s=max(0.001, deadline.left)
            )
        except GenRMError as error:
            if error.status in _REFUSED and error.kind is not FailureKind.CONTEXT_OVERFLOW:
                raise InputError(f"the judge service refuses: {error}") from error
            outcome: Outcome = Failure(kind=error.kind, detail=error.detail)
        else:
            facts = _same_judge(judge, reply)
            outcome, usage, draw, cached = _read(reply, draw)
        return Judgment(
            item=item,
            candidate=candidate,
            judge=judge.name,
            judge_identity=judge.identity,
            content_hash=content,
            outcome=outcome,
            votes=(Vote(draw=draw, outcome=outcome, usage=usage, cached=cached),),
            usage=usage,
            latency_s=time.perf_counter() - begin,
            cached=cached,
            model=facts.model,
            weight_version=facts.weight_version,
            prompt=prompt_text(judge.plan(item, draw)),
        )


def _same_judge(judge: Judge, reply: ScoreReply) -> ModelFacts:
    told = reply.verdict if isinstance(reply, VerdictReply) else reply.failure
    if told.judge != judge.identity:
        raise InputError(
            f"the service's judge {judge.name!r} is not the one configured here ({told.judge} instead of "
            f"{judge.identity}): give both the same options, e.g. --choices, --lenient, --language"
        )
    return ModelFacts(model=told.model, weight_version=told.weight_version)


def _read(reply: ScoreReply, draw: Draw) -> tuple[Outcome, Usage, Draw, bool]:
    told = reply.verdict if isinstance(reply, VerdictReply) else reply.failure
    usage = Usage(
        calls=told.usage.calls,
        prompt_tokens=told.usage.prompt_tokens,
        cached_tokens=told.usage.cached_tokens,
        completion_tokens=told.usage.completion_tokens,
    )
    if told.votes:
        first = told.votes[0]
        draw = Draw(vote=first.vote, seed=first.seed, order=tuple(first.order))
    return to_outcome(reply), usage, draw, all(vote.cached for vote in told.votes) and bool(told.votes)
