"""Votes through the scorer: what is drawn, what is stopped, what the meta RM keeps, and what is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Item, Request, SamplingParams, Verdict, Vote
from assay.data.decisions import judgments
from assay.scoring.cache import VerdictCache
from assay.scoring.judgment import Judgment
from assay.scoring.records import vote_rows
from assay.scoring.scorer import Scorer
from assay.voting.plan import Budget, Certain, VotePlan

from .doubles import DigitJudge, ScriptEngine, item, prompt_of

NEVER = Deadline.never()


def draw(scorer: Scorer, plan: VotePlan | None, thing: Item, judge: DigitJudge | None = None) -> Judgment:
    return asyncio.run(scorer.judge(judge or DigitJudge(), thing, NEVER, plan=plan))


def by_seed(request: Request) -> str:
    """A digit for each candidate shown, that follows from the request's seed."""
    seed = request.sampling.seed or 0
    return "".join(str((seed >> (4 * place)) % 10) for place in range(len(prompt_of(request).split())))


def test_fewer_votes_are_the_first_of_more_votes() -> None:
    full = draw(Scorer(ScriptEngine(by_seed)), VotePlan(k=8), item("a", "b"))
    for k in (1, 2, 4):
        some = draw(Scorer(ScriptEngine(by_seed)), VotePlan(k=k), item("a", "b"))
        assert [v.outcome for v in some.votes] == [v.outcome for v in full.votes[:k]]
        assert [v.draw for v in some.votes] == [v.draw for v in full.votes[:k]]


def test_scores_are_summed_in_the_items_own_order() -> None:
    engine = ScriptEngine(lambda r: "".join({"one": "1", "six": "6"}[word] for word in prompt_of(r).split()))
    judgment = draw(Scorer(engine), VotePlan(k=5), item("one", "six"))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores == (5.0, 30.0)
    assert judgment.outcome.choice == 1
    assert len({vote.draw.order for vote in judgment.votes}) == 2, "both orders were shown"


def test_votes_have_the_papers_temperature_unless_another_is_said() -> None:
    said, unsaid = ScriptEngine(by_seed), ScriptEngine(by_seed)
    draw(Scorer(unsaid), VotePlan(k=2), item("a"))
    draw(Scorer(said, sampling=SamplingParams(temperature=0.9)), VotePlan(k=2), item("a"))
    assert {r.sampling.temperature for r in unsaid.calls} == {0.5}
    assert {r.sampling.temperature for r in said.calls} == {0.9}


def test_a_failed_vote_is_dropped_and_flagged_not_counted_as_a_score() -> None:
    texts = iter(["3", "x", "5", "4"])
    judgment = draw(Scorer(ScriptEngine(lambda _: next(texts))), VotePlan(k=4), item("a"))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.flags == ("dropped_votes",)
    # Asked again once, so that the second vote is the third text; one text is left for three votes.
    assert sum(isinstance(vote.outcome, Failure) for vote in judgment.votes) <= 1


def test_too_few_verdicts_are_a_failure_with_the_kinds_counted() -> None:
    plan = VotePlan(k=4, min_valid=4)
    good = frozenset(vote.draw.seed for vote in draw(Scorer(ScriptEngine(by_seed)), plan, item("a")).votes[:2])
    engine = ScriptEngine(lambda r: "7" if r.sampling.seed in good else "x")
    judgment = draw(Scorer(engine), plan, item("a"))
    assert isinstance(judgment.outcome, Failure)
    assert judgment.outcome.kind is FailureKind.TOO_FEW_VOTES
    assert "2 of 4 votes hold a verdict, 4 are needed (parse_error 2)" in judgment.outcome.detail


def test_drawing_stops_when_nothing_can_change_and_what_flies_is_aborted() -> None:
    engine = ScriptEngine(lambda r: "".join({"bad": "0", "top": "9"}[word] for word in prompt_of(r).split()))
    plan = VotePlan(k=32, stop=Certain(), wave=4)
    judgment = draw(Scorer(engine), plan, item("bad", "top"))
    # A lead of 9 a vote: after 17 votes it is 153, and 15 votes more can take back 135; after 16 it is a tie at worst.
    assert len(judgment.votes) == 17
    assert len(engine.calls) <= 17 + 3
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.choice == 1


@pytest.mark.parametrize("latency_s", [0.0, 0.002])
def test_where_drawing_stops_follows_from_the_texts_alone(latency_s: float) -> None:
    engine = ScriptEngine(by_seed, latency_s=latency_s)
    plan = VotePlan(k=16, stop=Certain(), wave=3)
    thing = item("a", "b")
    assert [v.draw.vote for v in draw(Scorer(engine), plan, thing).votes] == [
        v.draw.vote for v in draw(Scorer(ScriptEngine(by_seed)), plan, thing).votes
    ]


def test_a_budget_of_tokens_ends_the_drawing() -> None:
    # Each vote costs 10 tokens of prompt and 2 of reply.
    plan = VotePlan(k=16, stop=Budget(tokens=30), wave=1)
    assert len(draw(Scorer(ScriptEngine(by_seed)), plan, item("a", "b")).votes) == 3


def test_a_budget_of_seconds_never_costs_the_first_vote() -> None:
    engine = ScriptEngine(by_seed, latency_s=0.2)
    plan = VotePlan(k=8, stop=Budget(seconds=0.05), wave=2)
    judgment = draw(Scorer(engine), plan, item("a", "b"))
    assert 1 <= len(judgment.votes) < 8
    assert judgment.ok


@dataclass(slots=True)
class ScriptMeta:
    """A meta RM whose logits follow from the vote."""

    logit: Callable[[Vote], float | Failure]
    asked: list[int] = field(default_factory=list[int])
    identity: str = "script-meta"

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def score(self, thing: Item, vote: Vote, deadline: Deadline) -> float | Failure:
        self.asked.append(vote.draw.vote)
        return self.logit(vote)


def with_meta(meta: ScriptMeta, plan: VotePlan, engine: ScriptEngine | None = None) -> Judgment:
    scorer = Scorer(engine or ScriptEngine(by_seed), metas={"m": meta})  # type: ignore[dict-item]
    return draw(scorer, plan, item("a", "b"))


def test_the_meta_rm_keeps_the_votes_with_the_highest_logits() -> None:
    meta = ScriptMeta(lambda vote: float(-vote.draw.vote))
    judgment = with_meta(meta, VotePlan(k=4, meta="m"))
    assert [vote.kept for vote in judgment.votes] == [True, True, False, False]
    kept = [vote.outcome.scores for vote in judgment.votes[:2] if isinstance(vote.outcome, Verdict)]
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores == tuple(sum(column) for column in zip(*(s for s in kept if s), strict=True))


def test_with_one_vote_the_meta_rm_is_not_asked() -> None:
    meta = ScriptMeta(lambda _: 0.0)
    assert with_meta(meta, VotePlan(k=1, meta="m")).ok
    assert meta.asked == []


def test_a_meta_rm_that_fails_on_every_vote_is_a_failure_not_a_vote_without_it() -> None:
    meta = ScriptMeta(lambda _: Failure(kind=FailureKind.META_ERROR, detail="no head"))
    judgment = with_meta(meta, VotePlan(k=4, meta="m"))
    assert isinstance(judgment.outcome, Failure)
    assert judgment.outcome.kind is FailureKind.META_ERROR
    assert "no head" in judgment.outcome.detail


def test_a_plan_that_the_judge_cannot_serve_is_refused_before_any_call() -> None:
    engine = ScriptEngine(by_seed)
    with pytest.raises(InputError, match="no meta RM named 'm'; none is configured"):
        draw(Scorer(engine), VotePlan(k=2, meta="m"), item("a", "b"))
    with pytest.raises(InputError, match="'majority' needs several candidates"):
        draw(Scorer(engine), VotePlan(k=2, reduce="majority"), item("a", "b"), DigitJudge(per_candidate=True))
    assert engine.calls == []


def test_a_judge_of_single_candidates_votes_on_each() -> None:
    engine = ScriptEngine(lambda r: {"one": "1", "six": "6"}[prompt_of(r)])
    judgment = draw(Scorer(engine), VotePlan(k=3), item("one", "six"), DigitJudge(per_candidate=True, reduce="mean"))
    assert isinstance(judgment.outcome, Verdict)
    assert (judgment.outcome.scores, judgment.outcome.choice) == ((1.0, 6.0), 1)
    assert [(v.candidate, v.draw.vote) for v in judgment.votes] == [(c, v) for c in (0, 1) for v in range(3)]


def test_rows_say_the_plan_the_votes_and_what_they_came_to() -> None:
    plan = VotePlan(k=4, orders="balanced", ties="first")
    judgment = draw(Scorer(ScriptEngine(by_seed)), plan, item("a", "b"))
    rows = vote_rows(judgment)
    assert [(row.vote, row.drawn) for row in rows] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert rows[0].voting["k"] == 4
    assert rows[0].voting["reduce"] == "sum", "the reducer that was really used"
    (one,) = judgments(rows)
    assert isinstance(judgment.outcome, Verdict)
    assert (one.scores, one.choice) == (judgment.outcome.scores, judgment.outcome.choice)
    assert one.calls == 4


def test_votes_come_from_the_cache_one_by_one() -> None:
    cache = VerdictCache()
    engine = ScriptEngine(by_seed)
    draw(Scorer(engine, cache=cache), VotePlan(k=2), item("a", "b"))
    again = draw(Scorer(engine, cache=cache), VotePlan(k=4), item("a", "b"))
    assert [vote.cached for vote in again.votes] == [True, True, False, False]
    assert len(engine.calls) == 4
