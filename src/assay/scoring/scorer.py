"""The scorer: joins judge x engine x voting x meta RM x cache. The one place where pure judges meet engines.

Owns drawing, the record and the counters of judgments. Does not own prompts or parsers (``judges``), what votes come to
(``voting``), asking one vote (``asking``), retries against a server (``engines``), or what a failure is worth.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import DEFAULT_SAMPLING, Failure, FailureKind, Item, Outcome, SamplingParams, Verdict, Vote
from assay.engines.base import Engine
from assay.engines.rule_first import RuleFirst
from assay.judges.base import Judge, content_hash
from assay.judges.parts import join, parts
from assay.voting.draws import make_draw, request_seed
from assay.voting.plan import VOTING_SAMPLING, Orders, VotePlan

from .asking import Answer, Asking, Question
from .ballot import Ballot
from .batch import RunFacts
from .cache import VerdictCache
from .counts import Counts
from .drawing import draw_votes
from .judgment import Judgment
from .meta import MetaScorer
from .reasking import REASK
from .recorder import Recorder
from .records import prompt_text, said, vote_rows
from .room import Room

_UNSAID = SamplingParams()
_ANY = "*"
"""Any judge without a form of its own."""
_BLIND = Failure(
    kind=FailureKind.BAD_REQUEST,
    detail="the item shows no reference, and the adapter of this model was trained to judge by one: give references, "
    "or take --adapter none or another model",
)

Piece = tuple[Item, int | None]
"""What one vote is about: an item as the judge takes it, and which candidate that is (None = all of them)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One judgment to make: what is the same for all of its votes. Without a ballot it is a plain one."""

    judge: Judge
    item: Item
    deadline: Deadline
    seed: int
    sampling: SamplingParams
    ballot: Ballot | None
    meta: MetaScorer | None

    @property
    def orders(self) -> Orders:
        return "shuffle" if self.ballot is None else self.ballot.plan.orders


class Scorer:
    """Judges items with one engine. Safe to use from many tasks of one event loop.

    The cache, the recorder and the meta RMs may be shared with other scorers: a scorer closes nothing that it was
    given but its engine. ``sampling`` is what the user said; votes are then sampled at the paper's temperature, plain
    judgments at the serving default. ``forms``: what the model of the engine was trained to be asked like, by the name
    of the judge; what the user said wins over it, and for votes the paper's temperature does too. ``needs_reference``:
    judges that this model was trained to be by a reference only; a question without one fails, unasked. ``rules``: a
    rule engine, started elsewhere, for judges that ask a rule first.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        instance: str = "__default__",
        sampling: SamplingParams | None = None,
        forms: Mapping[str, SamplingParams] | None = None,
        needs_reference: Collection[str] = (),
        reask: int = REASK,
        cache: VerdictCache | None = None,
        recorder: Recorder | None = None,
        metas: Mapping[str, MetaScorer] | None = None,
        rules: Engine | None = None,
        deduplicate: bool = True,
    ) -> None:
        self.engine = engine
        self.instance = instance
        given = sampling or SamplingParams()
        self._sampled = {
            (judge, votes): given.over(VOTING_SAMPLING if votes else _UNSAID).over(form).over(DEFAULT_SAMPLING)
            for judge, form in {_ANY: _UNSAID, **(forms or {})}.items()
            for votes in (False, True)
        }
        self.sampling = self._sampled[_ANY, False]
        self._needs_reference = frozenset(needs_reference)
        self.reask = reask
        self.cache = cache
        self.recorder = recorder
        self.metas = dict(metas or {})
        self.counts = Counts()
        asked = engine if rules is None else RuleFirst(engine, rules)
        self._room = Room(given.max_new_tokens)
        self._asking = Asking(asked, reask, cache, self._room, deduplicate=deduplicate)

    async def start(self, plan: VotePlan | None = None) -> RunFacts:
        """Start the engine and the meta RMs; says which model answers, and how it is asked under ``plan``."""
        await self.engine.start()
        self._room.check(self.engine.info)
        for meta in self.metas.values():
            await meta.start()
        info = self.engine.info
        return RunFacts(
            model=info.model,
            weight_version=info.weight_version,
            sampling=said(self._sampling(_ANY, plan)),
            reask=self.reask,
            meta="" if plan is None or plan.meta is None else self._meta(plan.meta).identity,
        )

    async def close(self) -> None:
        """Close the engine and the meta RMs."""
        await asyncio.gather(self.engine.close(), *(meta.close() for meta in self.metas.values()))

    async def judge(
        self, judge: Judge, item: Item, deadline: Deadline, *, seed: int = 0, plan: VotePlan | None = None
    ) -> Judgment:
        """Judge the whole item; a judge that looks at one candidate at a time is asked once per candidate.

        Args:
            seed: the user's own; another one gives independent draws.
            plan: how many votes, and what they come to; None = a plain judgment, one vote at the serving temperature.

        Raises:
            InputError: the item lacks what the judge needs, or the plan asks for what the judge cannot give. A judgment
                that fails does not raise: it is a ``Failure``.
        """
        found = parts(judge, item)
        pieces = [(piece, place if judge.per_candidate else None) for place, piece in enumerate(found)]
        return await self._judge(self._task(judge, item, deadline, seed, plan), pieces)

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
        """One judgment: an item that the judge takes whole (one candidate, for a judge that looks at one at a time)."""
        return await self._judge(self._task(judge, item, deadline, seed, plan), [(item, candidate)])

    def _task(self, judge: Judge, item: Item, deadline: Deadline, seed: int, plan: VotePlan | None) -> _Task:
        return _Task(
            judge=judge,
            item=item,
            deadline=deadline,
            seed=seed,
            sampling=self._sampling(judge.name, plan),
            ballot=None if plan is None else Ballot.of(plan, judge, item.n),
            meta=None if plan is None or plan.meta is None else self._meta(plan.meta),
        )

    async def _judge(self, task: _Task, pieces: Sequence[Piece]) -> Judgment:
        # What is wrong with any part of the item is said before the first vote is asked.
        first = [self._question(task, piece, 0) for piece, _ in pieces]
        drawn = await asyncio.gather(
            *(self._draw(task, question, candidate) for question, (_, candidate) in zip(first, pieces, strict=True))
        )
        votes: list[Vote] = []
        decisions: dict[int | None, Outcome] = {}
        for found in drawn:
            marked, decisions[found[0].candidate] = _decided(task, found)
            if task.ballot is not None:
                self.counts.vote(found, task.ballot.plan.k)
            votes += marked
        return self._judgment(task, votes, decisions)

    async def _draw(self, task: _Task, first: Question, candidate: int | None) -> tuple[Vote, ...]:
        """The votes about one piece."""
        ballot = task.ballot
        if ballot is None:
            return (await self._vote(first, candidate, task.deadline),)

        async def ask(vote: int) -> Vote:
            question = first if vote == 0 else self._question(task, first.item, vote)
            return await self._weighed(task, first.item, await self._vote(question, candidate, task.deadline))

        return await draw_votes(ask, ballot.plan, ballot.enough)

    async def _weighed(self, task: _Task, item: Item, vote: Vote) -> Vote:
        """The vote with its meta score, where the plan lets a meta RM choose and there is a verdict to choose."""
        sorts_out = task.ballot is not None and task.ballot.plan.kept_by_meta is not None
        if task.meta is None or not sorts_out or not isinstance(vote.outcome, Verdict):
            return vote
        score = await task.meta.score(item, vote, task.deadline)
        return replace(vote, meta_failure=score) if isinstance(score, Failure) else replace(vote, meta=score)

    def _sampling(self, judge: str, plan: VotePlan | None) -> SamplingParams:
        votes = plan is not None
        return self._sampled.get((judge, votes)) or self._sampled[_ANY, votes]

    def _meta(self, name: str) -> MetaScorer:
        found = self.metas.get(name)
        if found is None:
            there = f"there are {sorted(self.metas)!r}" if self.metas else "none is configured"
            raise InputError(f"no meta RM named {name!r}; {there}")
        return found

    def _question(self, task: _Task, item: Item, vote: int) -> Question:
        judge = task.judge
        content = content_hash(judge, item)
        draw = make_draw(judge.asks, content, item.n, vote=vote, base=task.seed, orders=task.orders)
        requests = tuple(
            replace(r, sampling=r.sampling.over(replace(task.sampling, seed=request_seed(draw.seed, place))))
            for place, r in enumerate(judge.plan(item, draw))
        )
        return Question(judge=judge, item=item, content_hash=content, draw=draw, requests=requests)

    async def _vote(self, question: Question, candidate: int | None, deadline: Deadline) -> Vote:
        begin = time.perf_counter()
        self.counts.running += 1
        try:
            blind = question.judge.name in self._needs_reference and not question.shows_reference
            answer = Answer(outcome=_BLIND) if blind else await self._asking.ask(question, deadline)
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

    def _judgment(self, task: _Task, votes: Sequence[Vote], decisions: Mapping[int | None, Outcome]) -> Judgment:
        ballot = task.ballot
        judgment = Judgment(
            item=task.item,
            judge=task.judge.name,
            judge_identity=task.judge.identity,
            outcome=join(list(decisions.values())) if ballot is None else ballot.whole(decisions, votes, task.seed),
            votes=tuple(votes),
            decisions=decisions,
            voting={} if ballot is None else ballot.told,
            sampling=said(task.sampling),
            parameters=self.engine.info.parameters,
        )
        if self.recorder is not None:
            for row in vote_rows(judgment, instance=self.instance, base_seed=task.seed):
                self.recorder.append(row)
        return judgment


def _decided(task: _Task, votes: Sequence[Vote]) -> tuple[Sequence[Vote], Outcome]:
    """The votes about the same candidates, and what they come to."""
    return (votes, votes[0].outcome) if task.ballot is None else task.ballot.decided(votes, task.seed)
