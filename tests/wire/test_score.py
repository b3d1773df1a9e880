from __future__ import annotations

import json
import re

import pytest
from pydantic import TypeAdapter

from assay.core.errors import InputError
from assay.core.types import (
    Candidate,
    Draw,
    Failure,
    FailureKind,
    Item,
    Message,
    Usage,
    Verdict,
    Vote,
)
from assay.voting.plan import Confident, VotePlan
from assay.wire.body import parse
from assay.wire.score import (
    FailureReply,
    ItemBody,
    ScoreBody,
    ScoreReply,
    VerdictReply,
    from_item,
    score_reply,
    to_item,
    to_outcome,
)
from assay.wire.voting import plan_fields

REPLY: TypeAdapter[ScoreReply] = TypeAdapter(ScoreReply)
FACTS = {"judge": "pointwise-12", "model": "m", "weight_version": "w3"}
USAGE = Usage(calls=1, prompt_tokens=10, cached_tokens=4, completion_tokens=5)


def test_a_prompt_is_one_user_message() -> None:
    item = to_item(ItemBody(prompt="1+1?", candidates=["2", "3"], reference="2", metadata={"source": "x"}), "r1")
    assert item == Item(
        id="r1",
        messages=(Message(role="user", content="1+1?"),),
        candidates=(Candidate(text="2"), Candidate(text="3")),
        reference="2",
        metadata={"source": "x"},
    )


def test_an_item_crosses_the_wire_without_its_gold() -> None:
    item = Item(
        id="r1",
        messages=(
            Message(role="system", content="be kind"),
            Message(role="user", content=({"type": "text", "text": "x"},)),
        ),
        candidates=(Candidate(text="a", author="someone"),),
        gold=(1.0,),
        metadata={"k": 1},
    )
    body = from_item(item)
    sent = body.model_dump_json()
    assert "gold" not in sent
    back = to_item(ItemBody.model_validate_json(sent), "r1")
    assert back.messages == item.messages
    assert [c.text for c in back.candidates] == ["a"]
    assert back.gold is None


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"candidates": ["a"]}, "either 'prompt'"),
        ({"prompt": "x", "messages": [{"role": "user", "content": "x"}], "candidates": ["a"]}, "either 'prompt'"),
        ({"prompt": "x", "candidates": []}, "item.candidates"),
        ({"prompt": "x", "candidates": ["a"], "gold": [1]}, "item.gold: unknown key"),
    ],
)
def test_an_item_that_leaves_a_question_open_is_refused(item: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(ScoreBody, json.dumps({"judge": "verifier", "item": item}).encode())


BODY = {"judge": "pointwise", "item": {"prompt": "x", "candidates": ["a", "b"]}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be between 1 and 4096, got 0"),
        ({"k": 4, "meta": "m", "k_meta": 5}, "k_meta must be between 1 and k=4, got 5"),
        ({"k": 4, "k_meta": 2}, "k_meta=2 needs a meta RM"),
        ({"k": 4, "stop": "soon"}, "stop 'soon' is no rule"),
        ({"k": 4, "stop": "confident:0.9"}, "delta must lie between 0 and 0.5"),
        ({"k": 4, "stop": "certain", "meta": "m"}, "cannot be combined"),
        ({"k": 4, "min_valid": 5}, "min_valid must be between 1 and k=4"),
    ],
)
def test_options_of_voting_that_cannot_be_are_refused_by_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse(ScoreBody, json.dumps(BODY | options).encode())


def test_a_plan_crosses_the_wire_and_nothing_said_is_a_plain_judgment() -> None:
    assert parse(ScoreBody, json.dumps(BODY).encode()).plan() is None
    assert parse(ScoreBody, json.dumps(BODY | {"k": 1}).encode()).plan() == VotePlan()
    plan = VotePlan(
        k=8, orders="balanced", reduce="median", ties="half", min_valid=3, stop=Confident(delta=0.1), wave=2
    )
    body = ScoreBody(judge="pointwise", item=ItemBody(prompt="x", candidates=["a", "b"]), **plan_fields(plan))
    assert parse(ScoreBody, body.model_dump_json(exclude_none=True).encode()).plan() == plan


def vote(outcome: Verdict | Failure, order: tuple[int, ...], candidate: int | None = None) -> Vote:
    return Vote(draw=Draw(vote=0, seed=7, order=order), outcome=outcome, usage=USAGE, candidate=candidate)


def test_a_verdict_crosses_the_wire() -> None:
    verdict = Verdict(scores=(3.0, 9.0), flags=("clipped",), text="\\boxed{9, 3}", mass=0.5)
    told = score_reply(verdict, [vote(verdict, (1, 0))], USAGE, FACTS)
    reply = REPLY.validate_json(json.dumps(told))
    assert isinstance(reply, VerdictReply)
    assert reply.verdict.scores == [3.0, 9.0]
    assert reply.verdict.usage.cached_tokens == 4
    assert reply.verdict.weight_version == "w3"
    (told_vote,) = reply.verdict.votes
    assert (told_vote.order, told_vote.seed, told_vote.candidate) == ([1, 0], 7, None)
    assert to_outcome(reply) == verdict


def test_a_choice_has_no_scores() -> None:
    verdict = Verdict(choice=1, text="\\boxed{2}")
    told = score_reply(verdict, [vote(verdict, (0, 1))], USAGE, FACTS)
    assert "scores" not in json.dumps(told)
    assert to_outcome(REPLY.validate_json(json.dumps(told))) == verdict


def test_a_failure_crosses_the_wire_and_keeps_the_votes_that_did_not_fail() -> None:
    good, bad = (
        Verdict(scores=(1.0,), text="1"),
        Failure(kind=FailureKind.PARSE_ERROR, detail="said 'maybe'", text="maybe"),
    )
    outcome = Failure(kind=FailureKind.PARSE_ERROR, detail="candidate 2 of 2: said 'maybe'", text="1\n\nmaybe")
    told = score_reply(outcome, [vote(good, (0,), 0), vote(bad, (0,), 1)], USAGE, FACTS)
    reply = REPLY.validate_json(json.dumps(told))
    assert isinstance(reply, FailureReply)
    first, second = reply.failure.votes
    assert (first.candidate, first.scores, first.failure) == (0, [1.0], None)
    assert (second.candidate, second.scores, second.failure) == (1, None, FailureKind.PARSE_ERROR)
    assert second.detail == "said 'maybe'"
    assert to_outcome(reply) == outcome
