"""The scorer: joins judge x engine x cache. The one place where pure judges meet engines that do I/O.

Owns concurrency, the deadline of a judgment, re-asking, de-duplication and the record. Does not own prompts or parsers
(``judges``), retries against a server (``engines``), or what a failed judgment is worth to whoever asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.core.deadline import Deadline
from assay.core.seeds import derive_order, derive_seed
from assay.core.types import (
    DEFAULT_SAMPLING,
    Completion,
    Draw,
    Failure,
    FailureKind,
    Item,
    Outcome,
    Request,
    SamplingParams,
    Usage,
    Verdict,
    Vote,
)
from assay.engines.base import Engine
from assay.judges.base import Judge, content_hash
from assay.judges.parts import join, parts

from .batch import ModelFacts
from .boundary import generate_all
from .cache import VerdictCache, verdict_key
from .counts import Counts
from .flight import SingleFlight
from .judgment import Judgment
from .policy import REASK_KINDS, ScoringPolicy
from .recorder import Recorder
from .records import judgment_row, prompt_text


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one call of the engine (re-asks included) brought."""

    outcome: Outcome
    usage: Usage
    reasks: int


class Scorer:
    """Judges items with one engine. Safe to use from many tasks of one event loop.

    Equal judgments, at the same time or later, cost one call: in flight by joining, later by the cache. Neither changes
    a verdict, because the seed comes from the judged content.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        instance: str = "__default__",
        sampling: SamplingParams = DEFAULT_SAMPLING,
        policy: ScoringPolicy | None = None,
        cache: VerdictCache | None = None,
        recorder: Recorder | None = None,
        deduplicate: bool = True,
    ) -> None:
        self.engine = engine
        self.instance = instance
        self.sampling = sampling.over(DEFAULT_SAMPLING)
        self.policy = policy or ScoringPolicy()
        self.cache = cache
        self.recorder = recorder
        self.counts = Counts()
        self._slots = asyncio.Semaphore(self.policy.max_concurrency)
        self._flights: SingleFlight[_Asked] | None = SingleFlight() if deduplicate else None

    async def start(self) -> ModelFacts:
        """Start the engine; says which model answers."""
        await self.engine.start()
        return ModelFacts(model=self.engine.info.model, weight_version=self.engine.info.weight_version)

    async def close(self) -> None:
        """Close the engine, the cache and the recorder."""
        await self.engine.close()
        if self.cache is not None:
            self.cache.close()
        if self.recorder is not None:
            self.recorder.close()

    async def judge(self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0) -> Judgment:
        """Judge the whole item; a judge that looks at one candidate at a time is asked once per candidate.

        Args:
            seed: the user's own; another one gives independent draws.

        Raises:
            InputError: the item lacks what the judge needs. A judgment that fails does not raise: it is a ``Failure``.
        """
        pieces = parts(judge, item)
        if not judge.per_candidate:
            return await self.judge_part(judge, pieces[0], deadline, seed=seed)
        each = (
            self.judge_part(judge, piece, deadline, seed=seed, candidate=index) for index, piece in enumerate(pieces)
        )
        return _joined(item, await asyncio.gather(*each))

    async def judge_part(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, candidate: int | None = None
    ) -> Judgment:
        """One judgment: an item that the judge takes whole (one candidate, for a judge that looks at one at a time)."""
        begin = time.perf_counter()
        content = content_hash(judge, item)
        draw = make_draw(judge, content, item.n, vote=0, base=seed)
        requests = self._resolve(judge.plan(item, draw), draw)
        self.counts.running += 1
        try:
            asked, cached = await self._outcome(judge, item, content, draw, requests, deadline)
        finally:
            self.counts.running -= 1
        info = self.engine.info
        judgment = Judgment(
            item=item,
            candidate=candidate,
            judge=judge.name,
            judge_identity=judge.identity,
            content_hash=content,
            outcome=asked.outcome,
            votes=(Vote(draw=draw, outcome=asked.outcome, usage=asked.usage, cached=cached),),
            usage=asked.usage,
            latency_s=time.perf_counter() - begin,
            cached=cached,
            reasks=asked.reasks,
            model=info.model,
            weight_version=info.weight_version,
            prompt=prompt_text(requests),
        )
        self.counts.add(judgment)
        if self.recorder is not None:
            self.recorder.append(judgment_row(judgment, instance=self.instance))
        return judgment

    async def _outcome(
        self, judge: Judge, item: Item, content: str, draw: Draw, requests: Sequence[Request], deadline: Deadline
    ) -> tuple[_Asked, bool]:
        """The outcome, and whether it came from the cache or from an equal judgment in flight."""
        key = verdict_key(judge.identity, self.engine.info, requests[0].sampling, content, draw)
        if self.cache is not None:
            known = self.cache.get(key)
            if known is not None:
                return _Asked(known, Usage(), 0), True
        while True:
            try:
                async with asyncio.timeout(deadline.timeout):
                    asked, joined = await self._fly(key, judge, item, draw, requests, deadline)
            except TimeoutError:
                detail = "waiting for an engine slot or an equal judgment when the deadline passed"
                return _Asked(Failure(kind=FailureKind.TIMEOUT, detail=detail), Usage(), 0), False
            if joined and _not_ours(asked.outcome) and not deadline.expired:
                continue
            return (replace(asked, usage=Usage()) if joined else asked), joined

    async def _fly(
        self, key: str, judge: Judge, item: Item, draw: Draw, requests: Sequence[Request], deadline: Deadline
    ) -> tuple[_Asked, bool]:
        async def ask() -> _Asked:
            async with self._slots:
                asked = await self._ask(judge, item, draw, requests, deadline)
            if self.cache is not None and isinstance(asked.outcome, Verdict):
                self.cache.put(key, asked.outcome)
            return asked

        if self._flights is None:
            return await ask(), False
        return await self._flights.run(key, ask)

    async def _ask(
        self, judge: Judge, item: Item, draw: Draw, requests: Sequence[Request], deadline: Deadline
    ) -> _Asked:
        """Ask, and ask again with another seed while the text holds no verdict and the policy allows it."""
        usage = Usage()
        for attempt in range(self.policy.reask + 1):
            answer = await generate_all(self.engine, requests, deadline)
            if isinstance(answer, Failure):
                return _Asked(answer, usage + Usage(calls=len(requests)), attempt)
            usage += _usage(requests, answer)
            outcome = judge.read(item, draw, answer)
            if attempt == self.policy.reask or not _worth_reasking(outcome, requests) or deadline.expired:
                return _Asked(outcome, usage, attempt)
            requests = [_reseeded(request, attempt + 1) for request in requests]
        raise AssertionError("unreachable: the last attempt returns")

    def _resolve(self, requests: Sequence[Request], draw: Draw) -> tuple[Request, ...]:
        """Requests with the instance's sampling under their own, and a seed each."""
        resolved: list[Request] = []
        for place, request in enumerate(requests):
            seed = draw.seed if place == 0 else _seed_from(draw.seed, f"request-{place}")
            sampling = request.sampling.over(replace(self.sampling, seed=seed))
            resolved.append(replace(request, sampling=sampling))
        return tuple(resolved)


def make_draw(judge: Judge, content: str, n: int, *, vote: int, base: int = 0) -> Draw:
    """The randomness of one vote: a seed for sampling and a seeded order of the candidates."""
    return Draw(
        vote=vote,
        seed=derive_seed(content, judge.identity, vote, "sample", base=base),
        order=derive_order(derive_seed(content, judge.identity, vote, "order", base=base), n),
    )


def _seed_from(seed: int, purpose: str) -> int:
    return derive_seed(str(seed), "", 0, purpose)


def _reseeded(request: Request, attempt: int) -> Request:
    seed = _seed_from(request.sampling.seed or 0, f"reask-{attempt}")
    return replace(request, id=f"{request.id}-reask-{attempt}", sampling=replace(request.sampling, seed=seed))


def _worth_reasking(outcome: Outcome, requests: Sequence[Request]) -> bool:
    """Greedy decoding, fixed choices and rules say the same again: asking them twice is a waste."""
    if isinstance(outcome, Verdict) or outcome.kind not in REASK_KINDS:
        return False
    return any(r.choices is None and r.sampling.temperature for r in requests)


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


def _joined(item: Item, judgments: Sequence[Judgment]) -> Judgment:
    """One judgment of an item whose candidates were judged one by one."""
    usage = Usage()
    for judgment in judgments:
        usage += judgment.usage
    return replace(
        judgments[0],
        item=item,
        candidate=None,
        outcome=join([judgment.outcome for judgment in judgments]),
        votes=tuple(vote for judgment in judgments for vote in judgment.votes),
        usage=usage,
        latency_s=max(judgment.latency_s for judgment in judgments),
        cached=all(judgment.cached for judgment in judgments),
        reasks=sum(judgment.reasks for judgment in judgments),
        prompt="\n\n".join(judgment.prompt for judgment in judgments),
    )
