"""``ScoresCandidates``: whatever gives a number to each candidate (a reward model, a head, a script), run like a judge.

So it has the same progress, resume, concurrency and result rows. ``CandidateJudge`` says what it looks at,
``CandidateBackend`` asks it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import (
    Completion,
    Draw,
    Failure,
    FailureKind,
    Item,
    Json,
    Outcome,
    Reduce,
    Request,
    Usage,
    Verdict,
    Vote,
)
from assay.judges.base import Judge, content_hash
from assay.judges.parts import join, parts
from assay.scoring.ballot import Ballot
from assay.scoring.batch import RunFacts
from assay.scoring.judgment import Judgment
from assay.voting.draws import make_draw
from assay.voting.plan import VotePlan

Varies = Literal["samples", "orders", "nothing"]
"""What makes two votes on the same item differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Finite scores, one for each candidate of the item, in the item's own order; higher is better."""

    scores: tuple[float, ...]
    text: str = ""
    """What was written on the way (a critique), where something was."""
    prompt: str = ""
    usage: Usage = field(default_factory=Usage)


class ScoresCandidates(Protocol):
    """Gives a score to each candidate.

    ``name``: what it is called. ``identity``: name and all that shapes its scores, as far as it is known before the
    start. ``pointwise``: looks at one candidate at a time, so that candidates that several questions share are scored
    once. ``scalar``: a scalar reward model (some benchmarks count its ties differently). ``varies``: what makes two
    votes differ: what is sampled, the order in which candidates are shown, or nothing. ``reduce``: how votes become
    one. ``looks_at_gold``: equal candidates of other gold are other questions to it (a script).
    """

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def pointwise(self) -> bool: ...
    @property
    def scalar(self) -> bool: ...
    @property
    def varies(self) -> Varies: ...
    @property
    def reduce(self) -> Reduce: ...
    @property
    def looks_at_gold(self) -> bool: ...

    async def start(self) -> RunFacts:
        """Load or connect; says which model answers. Raises StartError or InputError."""
        ...

    async def score(self, item: Item, draw: Draw, deadline: Deadline) -> Scored | Failure:
        """The scores of one vote; never raises for one that came to nothing.

        Args:
            item: one candidate, where ``pointwise``. draw: its seed and the order in which to show the candidates.
        """
        ...

    async def close(self) -> None:
        """Free everything. Twice is fine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateJudge:
    """What a scorer of candidates looks at, as a judge says it. It plans nothing: ``CandidateBackend`` asks."""

    name: str
    identity: str
    per_candidate: bool
    reduce: Reduce
    looks_at_gold: bool = False
    fewest: int = 1
    """The fewest candidates that it can take."""

    rule: bool = field(default=False, init=False)
    scale: tuple[float, float] | None = field(default=None, init=False)

    @classmethod
    def of(cls, scorer: ScoresCandidates) -> CandidateJudge:
        """The judge of a scorer."""
        return cls(
            name=scorer.name,
            identity=scorer.identity,
            per_candidate=scorer.pointwise,
            reduce=scorer.reduce,
            looks_at_gold=scorer.looks_at_gold,
        )

    @property
    def asks(self) -> str:
        return self.identity

    def content(self, item: Item) -> Mapping[str, Json]:
        if item.n < self.fewest:
            raise InputError(f"{self.name!r} compares at least {self.fewest} candidates, item {item.id!r} has {item.n}")
        gold: list[Json] = [*(item.gold or ())] if self.looks_at_gold else []
        return {
            "messages": [[message.role, message.text] for message in item.messages],
            "candidates": [candidate.text for candidate in item.candidates],
            "gold": gold,
        }

    def plan(self, item: Item, draw: Draw) -> tuple[Request, ...]:
        raise NotImplementedError(f"{self.name!r} scores candidates itself: it makes no requests")

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        raise NotImplementedError(f"{self.name!r} scores candidates itself: it reads no texts")


class CandidateBackend:
    """``scoring.batch.Judging`` for a scorer of candidates; belongs to the event loop that it is used in."""

    def __init__(self, scorer: ScoresCandidates) -> None:
        self._scorer = scorer
        self._facts = RunFacts(model="", weight_version="")

    async def start(self, plan: VotePlan | None = None) -> RunFacts:  # noqa: ARG002
        """Start the scorer."""
        self._facts = await self._scorer.start()
        return self._facts

    async def close(self) -> None:
        """Close the scorer."""
        await self._scorer.close()

    async def judge(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, plan: VotePlan | None = None
    ) -> Judgment:
        """Judge the whole item; a pointwise scorer is asked once for each candidate."""
        pieces = [(piece, place if judge.per_candidate else None) for place, piece in enumerate(parts(judge, item))]
        found = [
            await self.judge_part(judge, piece, deadline, seed=seed, candidate=candidate, plan=plan)
            for piece, candidate in pieces
        ]
        return Judgment(
            item=item,
            judge=judge.name,
            judge_identity=judge.identity,
            outcome=join([one.outcome for one in found]),
            votes=tuple(vote for one in found for vote in one.votes),
            decisions={name: outcome for one in found for name, outcome in one.decisions.items()},
            voting=found[0].voting,
        )

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
        """The votes on an item, or on one candidate of it."""
        ballot = Ballot.of(plan or VotePlan(), judge, item.n)
        content = content_hash(judge, item)
        draws = [
            make_draw(judge.asks, content, item.n, vote=vote, base=seed, orders=ballot.plan.orders)
            for vote in range(ballot.plan.k)
        ]
        drawn = await asyncio.gather(*(self._vote(item, draw, content, candidate, deadline) for draw in draws))
        votes, outcome = ballot.decided(drawn, seed)
        return Judgment(
            item=item,
            judge=judge.name,
            judge_identity=judge.identity,
            outcome=outcome,
            votes=tuple(votes),
            decisions={candidate: outcome},
            voting=ballot.told,
            sampling=self._facts.sampling,
        )

    async def _vote(self, item: Item, draw: Draw, content: str, candidate: int | None, deadline: Deadline) -> Vote:
        begin = time.perf_counter()
        found = await self._scorer.score(item, draw, deadline)
        scored = found if isinstance(found, Scored) else Scored(scores=())
        return Vote(
            draw=draw,
            outcome=_outcome(found, item.n),
            candidate=candidate,
            content_hash=content,
            prompt=scored.prompt,
            usage=scored.usage,
            latency_s=time.perf_counter() - begin,
            model=self._facts.model,
            weight_version=self._facts.weight_version,
        )


def _outcome(found: Scored | Failure, n: int) -> Outcome:
    if isinstance(found, Failure):
        return found
    if len(found.scores) != n:
        detail = f"{len(found.scores)} scores for {n} candidates"
        return Failure(kind=FailureKind.PARSE_ERROR, detail=detail, text=found.text)
    return Verdict(scores=found.scores, text=found.text)
