"""Reducers, ties and the decision: the order of votes changes nothing, and a failure is never a score."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Draw, Failure, FailureKind, Reduce, Verdict, Vote
from assay.voting.decide import decide, settle
from assay.voting.plan import Ties, VotePlan
from assay.voting.reducers import ballot, reduce_votes
from assay.voting.ties import best_of, choose, credit

Votes = list[Vote]
WAYS: list[Reduce] = ["sum", "mean", "majority", "median"]

outcomes = st.one_of(
    st.just(Failure(kind=FailureKind.PARSE_ERROR, detail="no box")),
    st.just(Failure(kind=FailureKind.TIMEOUT, detail="late")),
    st.tuples(*[st.floats(1, 10)] * 3).map(lambda scores: Verdict(scores=scores)),
    st.tuples(*[st.integers(1, 3).map(float)] * 3).map(lambda scores: Verdict(scores=scores, flags=("clipped",))),
)


@given(st.lists(outcomes, min_size=2, max_size=9), st.sampled_from(WAYS), st.booleans(), st.randoms())
def test_the_order_of_the_votes_changes_nothing(found: list[Any], how: Reduce, meta: bool, rng: random.Random) -> None:
    votes = [
        Vote(draw=Draw(vote=index, seed=0, order=(0, 1, 2)), outcome=outcome, meta=rng.choice([None, 0.0, 1.0]))
        for index, outcome in enumerate(found)
    ]
    plan = VotePlan(k=len(votes), meta="rm" if meta else None, min_valid=1)
    expected = decide(votes, plan, how, 3)
    for _ in range(5):
        rng.shuffle(votes)
        assert decide(votes, plan, how, 3) == expected


@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3), min_size=1, max_size=9), st.randoms())
def test_reducers_are_exact_whatever_the_order(rows: list[tuple[float, float, float]], rng: random.Random) -> None:
    verdicts = [Verdict(scores=row) for row in rows]
    expected = {how: reduce_votes(how, verdicts, 3) for how in WAYS}
    rng.shuffle(verdicts)
    assert {how: reduce_votes(how, verdicts, 3) for how in WAYS} == expected


def test_reducers_by_hand() -> None:
    verdicts = [Verdict(scores=scores) for scores in ((8.0, 8.0), (5.0, 9.0), (7.0, 10.0), (9.0, 2.0))]
    assert reduce_votes("sum", verdicts, 2) == (29, 29)
    assert reduce_votes("mean", verdicts, 2) == (7.25, 7.25)
    assert reduce_votes("median", verdicts, 2) == (7.5, 8.5)
    assert reduce_votes("majority", verdicts, 2) == (1.5, 2.5)
    assert ballot(Verdict(choice=2), 3) == (0, 0, 1)
    assert ballot(Verdict(), 2) == (0, 0)
    assert ballot(Verdict(scores=(4.0, 4.0, 1.0)), 3) == (0.5, 0.5, 0)
    with pytest.raises(ValueError, match="2 scores"):
        reduce_votes("sum", [Verdict(choice=1)], 2)
    with pytest.raises(ValueError, match="no verdicts"):
        reduce_votes("sum", [], 2)


def test_policies_of_ties() -> None:
    scores = (3.0, 7.0, 7.0)
    assert best_of(scores) == (1, 2)
    assert choose(scores, "first", 0) == 1
    assert choose(scores, "wrong", 0) is choose(scores, "half", 0) is None
    drawn = Counter(choose(scores, "random", seed) for seed in range(400))
    assert set(drawn) == {1, 2}
    assert min(drawn.values()) > 150
    assert choose(scores, "random", 5) == choose(scores, "random", 5)
    assert all(choose((1.0, 9.0, 2.0), ties, 0) == 1 for ties in ("random", "first", "wrong", "half"))


@pytest.mark.parametrize(
    ("scores", "ties", "worth"),
    [
        ((7.0, 3.0, 7.0), "half", 0.5),
        ((3.0, 7.0, 7.0), "half", 0.0),
        ((9.0, 7.0, 7.0), "half", 1.0),
        ((7.0, 3.0, 7.0), "wrong", 0.0),
        ((7.0, 3.0, 7.0), "first", 1.0),
        ((9.0, 7.0, 7.0), "wrong", 1.0),
    ],
)
def test_what_a_decision_is_worth(scores: tuple[float, ...], ties: Ties, worth: float) -> None:
    assert credit(scores, 0, ties, seed=1) == worth


def test_failures_are_dropped_and_counted(make_votes: Callable[..., Votes]) -> None:
    decision = decide(make_votes((8.0, 4.0), None, (6.0, 7.0), None), VotePlan(k=4), "sum", 2)
    assert decision.kept == (0, 2)
    assert isinstance(decision.outcome, Verdict)
    assert decision.outcome.scores == (14, 11)
    assert decision.outcome.flags == ("dropped_votes",)


def test_too_few_verdicts_are_a_failure(make_votes: Callable[..., Votes]) -> None:
    outcome = decide(make_votes((8.0, 4.0), None, None, None), VotePlan(k=4), "sum", 2).outcome
    assert isinstance(outcome, Failure)
    assert outcome.kind == FailureKind.TOO_FEW_VOTES
    assert "1 of 4 votes hold a verdict, 2 are needed (parse_error 3)" in outcome.detail
    assert isinstance(decide(make_votes((8.0, 4.0), None), VotePlan(k=8), "sum", 2).outcome, Verdict)
    strict = VotePlan(k=4, min_valid=3)
    assert isinstance(decide(make_votes((8.0, 4.0), (8.0, 4.0), None, None), strict, "sum", 2).outcome, Failure)
    all_alike = decide(make_votes(None, None), VotePlan(k=2), "sum", 2).outcome
    assert isinstance(all_alike, Failure)
    assert all_alike.kind == FailureKind.PARSE_ERROR


def test_votes_without_a_meta_score_are_a_failure_of_the_meta_rm(make_votes: Callable[..., Votes]) -> None:
    outcome = decide(make_votes((8.0, 4.0), (8.0, 4.0)), VotePlan(k=2, meta="rm"), "sum", 2).outcome
    assert isinstance(outcome, Failure)
    assert outcome.kind == FailureKind.META_ERROR


def test_one_vote_keeps_its_own_outcome(make_votes: Callable[..., Votes]) -> None:
    (vote,) = make_votes((8.0, 4.0))
    assert decide([vote], VotePlan(k=1), "sum", 2).outcome is vote.outcome
    (failed,) = make_votes(None)
    assert decide([failed], VotePlan(k=1), "sum", 2).outcome is failed.outcome
    with pytest.raises(ValueError, match="no votes"):
        decide([], VotePlan(k=1), "sum", 2)


def test_a_tie_is_flagged_and_settled_by_the_plan() -> None:
    tied = Verdict(scores=(5.0, 5.0))
    settled = {ties: settle(tied, VotePlan(ties=ties), seed=3) for ties in ("random", "first", "half", "wrong")}
    assert all(isinstance(s, Verdict) and s.flags == ("tie",) for s in settled.values())
    choices = {ties: s.choice for ties, s in settled.items() if isinstance(s, Verdict)}
    assert choices["first"] == 0
    assert choices["half"] is choices["wrong"] is None
    assert choices["random"] in (0, 1)
    clear = settle(Verdict(scores=(5.0, 6.0)), VotePlan(), seed=3)
    assert isinstance(clear, Verdict)
    assert (clear.choice, clear.flags) == (1, ())
    single = Verdict(scores=(5.0,))
    assert settle(single, VotePlan(), seed=3) is single
