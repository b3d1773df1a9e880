"""Heads of ``assay rm`` that are shown more than an answer: PairRM (two answers), CLoud (an answer and its critique).

Both are scorers of candidates (``candidates``) over a reward engine; each is shown what it was trained on. Owns: what
is asked in which order, and what logits come to. Does not own: the prompts (``judges.pairrm``, ``judges.replies``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from assay.core.deadline import Deadline
from assay.core.types import (
    DEFAULT_SAMPLING,
    ChatPrompt,
    Completion,
    Draw,
    Failure,
    FailureKind,
    Item,
    Reduce,
    Request,
    SamplingParams,
    Usage,
)
from assay.engines.base import Engine, Reward, RewardEngine
from assay.judges.base import Judge
from assay.judges.pairrm import PairPrompt
from assay.judges.replies import CLOUD, critique_prompt, critique_request
from assay.judges.shield import Language
from assay.scoring.batch import RunFacts
from assay.scoring.boundary import generate_all, reward_one
from assay.scoring.records import said

from .candidates import CandidateJudge, Scored, Varies
from .scalar import no_meta, shown

_FIRST = 5e-324
"""A preference of exactly 0 means the first (DeepSeek-GRM eq. 5): the least number that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScorer:
    """PairRM: one logit for two answers, positive for the first; ``ScoresCandidates``.

    Of more than two candidates every two are compared once, in the order drawn, and a score is the mean preference over
    all others.
    """

    engine: RewardEngine
    model: str
    prompt: PairPrompt = field(default_factory=PairPrompt)

    name: str = field(default="pairrm", init=False)
    pointwise: bool = field(default=False, init=False)
    scalar: bool = field(default=True, init=False)
    varies: Varies = field(default="orders", init=False)
    reduce: Reduce = field(default="mean", init=False)
    looks_at_gold: bool = field(default=False, init=False)

    @property
    def identity(self) -> str:
        return pair_judge(self.model, self.prompt).identity

    async def start(self) -> RunFacts:
        """Start the engine."""
        await self.engine.start()
        info = self.engine.info
        return RunFacts(model=info.model, weight_version=info.weight_version)

    async def score(self, item: Item, draw: Draw, deadline: Deadline) -> Scored | Failure:
        """By how much each is preferred to the others, on average; a comparison that fails, fails the vote."""
        pairs = list(combinations(draw.order, 2))
        prompts = [self.prompt.build(item, first, second) for first, second in pairs]
        found = await asyncio.gather(*(reward_one(self.engine, prompt, deadline) for prompt in prompts))
        scores, tokens = [0.0] * item.n, 0
        for (first, second), one in zip(pairs, found, strict=True):
            if isinstance(one, Failure):
                return no_meta(one)
            preference = (one.logit or _FIRST) / max(1, item.n - 1)
            scores[first] += preference
            scores[second] -= preference
            tokens += one.prompt_tokens
        usage = Usage(calls=len(pairs), prompt_tokens=tokens)
        return Scored(scores=tuple(scores), prompt="\n\n".join(map(shown, prompts)), usage=usage)

    async def close(self) -> None:
        """Close the engine."""
        await self.engine.close()


def pair_judge(model: str, prompt: PairPrompt) -> CandidateJudge:
    """The judge of a PairRM head, before there is an engine."""
    return CandidateJudge(
        name="pairrm", identity=f"{prompt.asks}-{model}", per_candidate=False, reduce="mean", fewest=2
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudScorer:
    """CLoud: a critic writes about one answer, the head scores the answer with that; ``ScoresCandidates``.

    ``critic``: the judge whose text is the critique; None asks for one as the head's training data does (``replies``).
    ``sampling``: of the critic.
    """

    engine: RewardEngine
    writer: Engine
    model: str
    critic: Judge | None = None
    language: Language = "en"
    sampling: SamplingParams = field(default_factory=SamplingParams)

    name: str = field(default=CLOUD, init=False)
    pointwise: bool = field(default=True, init=False)
    scalar: bool = field(default=True, init=False)
    varies: Varies = field(default="samples", init=False)
    reduce: Reduce = field(default="mean", init=False)
    looks_at_gold: bool = field(default=False, init=False)

    @property
    def identity(self) -> str:
        return cloud_judge(self.model, self.critic, self.language).identity

    async def start(self) -> RunFacts:
        """Start both engines, one after the other: transformers cannot load two models at the same time."""
        await self.engine.start()
        await self.writer.start()
        head, critic = self.engine.info, self.writer.info
        return RunFacts(
            model=f"{head.model} on {critic.model}",
            weight_version=f"{head.weight_version} on {critic.weight_version}",
            sampling=said(self.sampling.over(DEFAULT_SAMPLING)),
        )

    async def score(self, item: Item, draw: Draw, deadline: Deadline) -> Scored | Failure:
        """The logit of the one candidate with its critique."""
        written = await self._critique(item, draw, deadline)
        if isinstance(written, Failure):
            return written
        text = "\n".join(one.text for one in written)
        if not text.strip():
            return Failure(kind=FailureKind.PARSE_ERROR, detail="the critic wrote nothing", text=text)
        prompt = critique_prompt(item, 0, text, language=self.language)
        found = await reward_one(self.engine, prompt, deadline)
        if isinstance(found, Failure):
            return replace(no_meta(found), text=text)
        return Scored(scores=(found.logit,), text=text, prompt=shown(prompt), usage=_spent(written, found))

    async def close(self) -> None:
        """Close both engines."""
        await asyncio.gather(self.engine.close(), self.writer.close())

    async def _critique(self, item: Item, draw: Draw, deadline: Deadline) -> tuple[Completion, ...] | Failure:
        sampling = self.sampling.over(DEFAULT_SAMPLING)
        asked = self._asked(item, draw)
        requests = [replace(one, sampling=one.sampling.over(sampling)) for one in asked]
        return await generate_all(self.writer, requests, deadline)

    def _asked(self, item: Item, draw: Draw) -> Sequence[Request]:
        if self.critic is not None:
            return self.critic.plan(item, draw)
        prompt: ChatPrompt = critique_request(item, 0, language=self.language)
        return (Request(id=f"{draw.seed}-0", prompt=prompt, sampling=SamplingParams(seed=draw.seed)),)


def cloud_judge(model: str, critic: Judge | None, language: Language) -> CandidateJudge:
    """The judge of a CLoud head, before there is an engine."""
    asks = f"{CLOUD}-{language}" if critic is None else f"{CLOUD}-{language}-{critic.asks}"
    return CandidateJudge(name=CLOUD, identity=f"{asks}-{model}", per_candidate=True, reduce="mean")


def _spent(written: Sequence[Completion], found: Reward) -> Usage:
    return Usage(
        calls=len(written) + 1,
        prompt_tokens=sum(one.prompt_tokens for one in written) + found.prompt_tokens,
        cached_tokens=sum(one.cached_tokens for one in written),
        completion_tokens=sum(one.completion_tokens for one in written),
    )
