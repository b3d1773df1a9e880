"""The built-in judges through the scorer: several requests a vote, votes, breakdowns, masses."""

from __future__ import annotations

import asyncio
import math

import pytest

from assay.core.deadline import Deadline
from assay.core.types import Failure, FailureKind, Item, Request, SamplingParams, Verdict
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.judges.base import Judge
from assay.judges.principle_writer import PrincipleWriter
from assay.scoring.judgment import Judgment
from assay.scoring.records import vote_rows
from assay.scoring.scorer import Scorer
from assay.voting.plan import VotePlan

from .doubles import ScriptEngine, item, prompt_of


def judge_with(engine: FakeEngine | ScriptEngine, judge: Judge, about: Item, plan: VotePlan | None = None) -> Judgment:
    return asyncio.run(Scorer(engine).judge(judge, about, Deadline.after(10), plan=plan))


def prefers(best: str) -> ScriptEngine:
    """An engine that names the candidate whose text is ``best``, wherever it stands."""

    def reply(request: Request) -> str:
        shown = prompt_of(request)
        places = [shown.index(f"[[response {place} ") for place in (1, 2)]
        return rf"\boxed{{{1 if places[0] < shown.index(best, places[0]) < places[1] else 2}}}"

    return ScriptEngine(reply)


@pytest.mark.parametrize("both", [False, True])
def test_votes_of_the_pairwise_judge_are_counted(both: bool) -> None:
    judge = build_judge("pairwise", both_orders=both)
    engine = prefers("BEST")
    judgment = judge_with(engine, judge, item("other", "BEST"), VotePlan(k=3))
    assert isinstance(judgment.outcome, Verdict)
    assert (judgment.outcome.scores, judgment.outcome.choice) == ((0.0, 3.0), 1)
    assert len(engine.calls) == (6 if both else 3)
    assert len({request.sampling.seed for request in engine.calls}) == len(engine.calls)


def test_a_judge_that_always_names_the_first_finds_no_winner_in_both_orders() -> None:
    engine = FakeEngine(FakeConfig(default=r"\boxed{1}"))
    about, judge = item("a", "b"), build_judge("pairwise", both_orders=True)
    judgment = judge_with(engine, judge, about, VotePlan(k=3, ties="half"))
    assert isinstance(judgment.outcome, Verdict)
    assert (judgment.outcome.scores, judgment.outcome.choice) == ((1.5, 1.5), None)
    assert judgment.outcome.flags == ("inconsistent", "tie")


def test_a_rubric_in_batches_keeps_its_breakdown_for_every_candidate() -> None:
    engine = FakeEngine(
        FakeConfig(replies={"1. Instruction adherence": r"\boxed{8, 6}", "1. Level of detail": r"\boxed{4, 2}"})
    )
    judgment = judge_with(engine, build_judge("rubric", batch=2), item("a", "b"))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores == (5.0, 5.0)
    assert [list(own.values()) for own in judgment.outcome.breakdown] == [[8.0, 6.0, 4.0, 2.0]] * 2
    assert judgment.usage.calls == 4
    assert [len(row.breakdown) for row in vote_rows(judgment)] == [1, 1]


def test_soft_scores_of_a_list_are_averaged_over_votes() -> None:
    engine = FakeEngine(FakeConfig(choices={"1": 0.6, "2": 0.2}))
    about, judge = item("a", "b"), build_judge("tokenprob", form="list")
    judgment = judge_with(engine, judge, about, VotePlan(k=2, orders="balanced", ties="half"))
    assert isinstance(judgment.outcome, Verdict)
    # The engine prefers the first place: over balanced orders that comes to nothing.
    assert judgment.outcome.scores == pytest.approx((0.5, 0.5))
    assert judgment.outcome.mass == pytest.approx(0.8)


def test_a_soft_score_without_mass_is_a_failure_of_its_own_kind() -> None:
    engine = FakeEngine(FakeConfig(choices={"Yes": 1e-4, "No": 1e-5}))
    judgment = judge_with(engine, build_judge("tokenprob"), item("a"))
    assert isinstance(judgment.outcome, Failure)
    assert judgment.outcome.kind is FailureKind.LOW_MASS


def test_thinking_asks_for_the_likeliest_tokens_and_reads_them() -> None:
    engine = FakeEngine(FakeConfig(default="<think>is it No ?</think>\nYes"))
    scorer = Scorer(engine, sampling=SamplingParams(temperature=0.5))
    judge = build_judge("tokenprob", thinking=True)
    judgment = asyncio.run(scorer.judge(judge, item("a"), Deadline.after(10)))
    assert isinstance(judgment.outcome, Verdict)
    assert judgment.outcome.scores is not None
    assert judgment.outcome.scores[0] > 0.9
    assert judgment.outcome.mass is not None
    assert math.isclose(judgment.outcome.mass, 1.0, abs_tol=0.11)


def test_principles_are_a_judgment_with_a_text_and_no_scores() -> None:
    engine = FakeEngine(FakeConfig(default="Specific Criteria: Depth 100%"))
    judgment = judge_with(engine, PrincipleWriter(), item(""))
    assert judgment.outcome == Verdict(text="Specific Criteria: Depth 100%")
