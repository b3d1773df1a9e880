"""One vote asked of an engine: cache, de-duplication, re-asking, all within one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.core.deadline import Deadline
from assay.core.types import Completion, Draw, Failure, FailureKind, Item, Outcome, Request, Usage, Verdict
from assay.engines.base import Engine, EngineInfo
from assay.engines.rule_first import RuleFirst
from assay.judges.base import Judge
from assay.voting.draws import reask_seed

from .boundary import generate_all
from .cache import VerdictCache, attempt_key, cache_key
from .dedup import SingleFlight
from .reasking import worth_reasking
from .room import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One vote to ask: the judge, what it looks at, the draw, and the requests with their sampling resolved."""

    judge: Judge
    item: Item
    content_hash: str
    draw: Draw
    requests: tuple[Request, ...]

    @property
    def shows_reference(self) -> bool:
        """Whether the judge is shown a reference."""
        return self.judge.content(self.item).get("reference") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of it. ``completions`` are those that the outcome was read from."""

    outcome: Outcome
    completions: tuple[Completion, ...] = ()
    usage: Usage = field(default_factory=Usage)
    reasks: int = 0
    cached: bool = False


class Asking:
    """Asks one engine. Equal questions, at the same time or later, cost one call: by joining, later by the cache."""

    def __init__(
        self, engine: Engine, reask: int, cache: VerdictCache | None, room: Room, *, deduplicate: bool = True
    ) -> None:
        self._engine = engine
        self._rules = isinstance(engine, RuleFirst)
        self._reask = reask
        self._cache = cache
        self._room = room
        self._flights: SingleFlight[Answer] | None = SingleFlight() if deduplicate else None

    async def ask(self, question: Question, deadline: Deadline) -> Answer:
        """The answer to a question; never raises for one that came to nothing."""
        requests, draw, info = question.requests, question.draw, self._engine.info
        if not self._rules and any(request.first is not None for request in requests):
            detail = f"judge {question.judge.name!r} asks a rule first, and no rule engine is beside the model here"
            return Answer(outcome=Failure(kind=FailureKind.BAD_REQUEST, detail=detail))
        key = cache_key(question.judge.asks, info, requests[0].sampling, question.content_hash, draw)
        known = self._known(question, key)
        if known is not None:
            return known
        if self._flights is None:
            return await self._call(question, key, info, deadline)
        while True:
            try:
                async with asyncio.timeout(deadline.timeout):
                    answer, joined = await self._flights.run(key, lambda: self._call(question, key, info, deadline))
            except TimeoutError:
                detail = "the engine had not answered when the deadline passed"
                return Answer(outcome=Failure(kind=FailureKind.TIMEOUT, detail=detail))
            if not joined:
                return answer
            if _not_ours(answer.outcome) and not deadline.expired:
                continue
            # The texts are shared, the reading is our own: whoever made the call may have another parser.
            outcome = answer.outcome
            if answer.completions:
                outcome = question.judge.read(question.item, draw, answer.completions)
            return replace(answer, outcome=outcome, usage=Usage(), cached=True)

    def _known(self, question: Question, key: str) -> Answer | None:
        """The answer as the cache knows it: the first time of asking that held a verdict."""
        if self._cache is None:
            return None
        for attempt in range(self._reask + 1):
            completions = self._cache.get(attempt_key(key, attempt))
            if completions is not None:
                outcome = question.judge.read(question.item, question.draw, completions)
                return Answer(outcome=outcome, completions=completions, reasks=attempt, cached=True)
        return None

    async def _call(self, question: Question, key: str, info: EngineInfo, deadline: Deadline) -> Answer:
        """Ask, and ask again with another seed while the text holds no verdict and it may."""
        usage = Usage()
        for attempt in range(self._reask + 1):
            requests = question.requests if attempt == 0 else _reseeded(question.requests, attempt)
            said = await generate_all(self._engine, requests, deadline)
            if isinstance(said, Failure):
                return Answer(outcome=said, usage=usage + Usage(calls=len(requests)), reasks=attempt)
            self._room.look(info, requests, said)
            usage += _usage(requests, said)
            outcome = question.judge.read(question.item, question.draw, said)
            if isinstance(outcome, Verdict):
                self._keep(attempt_key(key, attempt), info, said)
            if attempt == self._reask or deadline.expired or not worth_reasking(outcome, requests):
                return Answer(outcome=outcome, completions=said, usage=usage, reasks=attempt)
        raise AssertionError("unreachable: the last attempt returns")

    def _keep(self, key: str, info: EngineInfo, completions: tuple[Completion, ...]) -> None:
        """Cache the texts, unless other weights than the key names wrote them (an update in the middle of the call)."""
        theirs = {(c.model or info.model, c.weight_version or info.weight_version) for c in completions}
        if self._cache is not None and theirs == {(info.model, info.weight_version)}:
            self._cache.put(key, completions)


def _reseeded(requests: Sequence[Request], attempt: int) -> tuple[Request, ...]:
    return tuple(
        replace(r, sampling=replace(r.sampling, seed=reask_seed(r.sampling.seed or 0, attempt))) for r in requests
    )


def _not_ours(outcome: Outcome) -> bool:
    """A failure that belongs to whoever made the call that we joined (their deadline, their leaving), not to us."""
    return isinstance(outcome, Failure) and outcome.kind in (FailureKind.TIMEOUT, FailureKind.CANCELLED)


def _usage(requests: Sequence[Request], completions: Sequence[Completion]) -> Usage:
    prompts = {completion.request_id: completion for completion in completions}
    return Usage(
        calls=len(requests),
        prompt_tokens=sum(c.prompt_tokens for c in prompts.values()),
        cached_tokens=sum(c.cached_tokens for c in prompts.values()),
        completion_tokens=sum(c.completion_tokens for c in completions),
    )
