"""The scorer: joins judge x engine x cache. The one place where pure judges meet engines that do I/O.

Owns drawing, the record and the counters of judgments. Does not own prompts or parsers (``judges``), asking one vote
(``asking``), retries against a server (``engines``), or what a failed judgment is worth to whoever asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from assay.core.deadline import Deadline
from assay.core.types import DEFAULT_SAMPLING, Item, Request, SamplingParams, Vote
from assay.engines.base import Engine
from assay.judges.base import Judge, content_hash
from assay.judges.parts import join, parts
from assay.voting.draws import make_draw, request_seed

from .asking import Answer, Asking, Question
from .batch import RunFacts
from .cache import VerdictCache
from .counts import Counts
from .judgment import Judgment
from .policy import ScoringPolicy
from .recorder import Recorder
from .records import prompt_text, said, vote_rows


class Scorer:
    """Judges items with one engine. Safe to use from many tasks of one event loop.

    The cache and the recorder may be shared with other scorers: a scorer closes nothing that it was given.
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
        self._asking = Asking(engine, self.policy, cache, deduplicate=deduplicate)

    async def start(self) -> RunFacts:
        """Start the engine; says which model answers, and how it is asked."""
        await self.engine.start()
        info = self.engine.info
        return RunFacts(
            model=info.model,
            weight_version=info.weight_version,
            sampling=said(self.sampling),
            reask=self.policy.reask,
        )

    async def close(self) -> None:
        """Close the engine."""
        await self.engine.close()

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
        questions = [self._question(judge, piece, seed) for piece in pieces]
        votes = await asyncio.gather(
            *(self._vote(question, place, deadline) for place, question in enumerate(questions))
        )
        return self._judgment(judge, item, votes, seed)

    async def judge_part(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, candidate: int | None = None
    ) -> Judgment:
        """One judgment: an item that the judge takes whole (one candidate, for a judge that looks at one at a time)."""
        question = self._question(judge, item, seed)
        return self._judgment(judge, item, [await self._vote(question, candidate, deadline)], seed)

    def _question(self, judge: Judge, item: Item, seed: int) -> Question:
        content = content_hash(judge, item)
        draw = make_draw(judge.asks, content, item.n, vote=0, base=seed)
        requests = self._resolve(judge.plan(item, draw), draw.seed)
        return Question(judge=judge, item=item, content_hash=content, draw=draw, requests=requests)

    def _resolve(self, requests: Sequence[Request], seed: int) -> tuple[Request, ...]:
        """Requests with the instance's sampling under their own, and a seed each."""
        return tuple(
            replace(r, sampling=r.sampling.over(replace(self.sampling, seed=request_seed(seed, place))))
            for place, r in enumerate(requests)
        )

    async def _vote(self, question: Question, candidate: int | None, deadline: Deadline) -> Vote:
        begin = time.perf_counter()
        self.counts.running += 1
        try:
            answer = await self._asking.ask(question, deadline)
        finally:
            self.counts.running -= 1
        return self._made(question, candidate, answer, time.perf_counter() - begin)

    def _made(self, question: Question, candidate: int | None, answer: Answer, latency_s: float) -> Vote:
        info = self.engine.info
        first = answer.completions[0] if answer.completions else None
        vote = Vote(
            draw=question.draw,
            outcome=answer.outcome,
            candidate=candidate,
            content_hash=question.content_hash,
            prompt=prompt_text(question.requests),
            completions=answer.completions,
            usage=answer.usage,
            cached=answer.cached,
            reasks=answer.reasks,
            latency_s=latency_s,
            model=(first.model if first else "") or info.model,
            weight_version=(first.weight_version if first else "") or info.weight_version,
        )
        self.counts.add(vote)
        return vote

    def _judgment(self, judge: Judge, item: Item, votes: Sequence[Vote], seed: int) -> Judgment:
        judgment = Judgment(
            item=item,
            judge=judge.name,
            judge_identity=judge.identity,
            outcome=join([vote.outcome for vote in votes]),
            votes=tuple(votes),
        )
        if self.recorder is not None:
            for row in vote_rows(judgment, instance=self.instance, sampling=said(self.sampling), base_seed=seed):
                self.recorder.append(row)
        return judgment
