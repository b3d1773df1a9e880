from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.scoring.journal import read_sealed
from assay.scoring.recorder import Recorder
from assay.wire.score import FailureReply, ScoreReply, VerdictReply

from .doubles import ITEM, Puppet, make_app, overflow, post

REPLY: TypeAdapter[ScoreReply] = TypeAdapter(ScoreReply)


def score(engine: Puppet, judge: str = "verifier", item: object = ITEM, **more: object) -> ScoreReply:
    reply = post(make_app(engine), "/score", {"judge": judge, "item": item, **more})
    assert reply.status_code == 200, reply.text
    return REPLY.validate_json(reply.content)


def test_a_verdict() -> None:
    reply = score(Puppet(text="1"))
    assert isinstance(reply, VerdictReply)
    verdict = reply.verdict
    assert verdict.scores == [1.0]
    assert verdict.usage.model_dump() == {"calls": 1, "prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 2}
    assert (verdict.model, verdict.weight_version) == ("puppet", "w1")
    assert verdict.judge.startswith("verifier")
    assert [vote.text for vote in verdict.votes] == ["1"]


def test_scores_of_several_candidates_are_in_the_items_order() -> None:
    item = {"prompt": "2+2?", "candidates": ["four", "five"]}
    reply = score(Puppet(text="The first is better. \\boxed{9, 3}"), "pointwise", item)
    assert isinstance(reply, VerdictReply)
    (vote,) = reply.verdict.votes
    shown = [reply.verdict.scores[place] for place in vote.order] if reply.verdict.scores else []
    assert shown == [9.0, 3.0]


def test_a_judge_of_single_candidates_judges_each() -> None:
    reply = score(Puppet(text="0"), item=ITEM | {"candidates": ["Answer: 5", "Answer: 6", "Answer: 5"]})
    assert isinstance(reply, VerdictReply)
    assert reply.verdict.scores == [0.0, 0.0, 0.0]
    assert [vote.candidate for vote in reply.verdict.votes] == [0, 1, 2]
    assert reply.verdict.usage.calls == 2, "equal candidates are one question"


def test_a_text_without_a_verdict_is_a_typed_failure_and_never_a_score() -> None:
    reply = score(Puppet(text="maybe"))
    assert isinstance(reply, FailureReply)
    assert reply.failure.kind is FailureKind.PARSE_ERROR
    assert reply.failure.votes[0].text == "maybe"
    assert "score" not in reply.model_dump_json(exclude_none=True)


@pytest.mark.parametrize(
    "error",
    [overflow(), GenerationError(FailureKind.ENGINE_ERROR, "gone"), GenerationError(FailureKind.TIMEOUT, "late")],
)
def test_an_engine_that_failed_is_a_judgment_that_failed(error: GenerationError) -> None:
    reply = score(Puppet(error=error))
    assert isinstance(reply, FailureReply)
    assert (reply.failure.kind, reply.failure.detail) == (error.kind, error.detail)


@pytest.mark.parametrize(("kind", "status"), [(FailureKind.ASLEEP, 503), (FailureKind.OVERLOADED, 429)])
def test_an_item_that_was_not_judged_is_not_a_reply(kind: FailureKind, status: int) -> None:
    engine = Puppet(error=GenerationError(kind, "later"))
    reply = post(make_app(engine), "/score", {"judge": "verifier", "item": ITEM})
    assert reply.status_code == status
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["error"]["type"] == str(kind)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"judge": "oracle", "item": ITEM}, 404, "No judge named 'oracle'; offered: ['math', 'pointwise', 'verifier']"),
        ({"judge": "/etc/judge.toml", "item": ITEM}, 404, "No judge named '/etc/judge.toml'"),
        ({"judge": "verifier", "item": ITEM, "route_key": "x"}, 404, "No GenRM instance registered for route_key='x'"),
        ({"judge": "math", "item": ITEM}, 404, "Judge 'math' is answered by a rule engine, and this service runs none"),
        ({"judge": "verifier", "item": {"prompt": "x", "candidates": ["a"]}}, 422, "reference"),
        ({"judge": "verifier", "item": ITEM, "k": 0}, 422, "k must be between 1 and 4096, got 0"),
        ({"judge": "verifier", "item": ITEM, "k": 8, "reduce": "majority"}, 422, "'majority' needs several candidates"),
        ({"judge": "verifier", "item": ITEM, "k": 8, "meta": "m"}, 422, "no meta RM named 'm'; none is configured"),
        ({"judge": "verifier", "item": ITEM, "deadline_s": 0}, 422, "deadline_s"),
        ({"judge": "verifier", "item": ITEM, "votes": 8}, 422, "votes: unknown key"),
    ],
)
def test_what_cannot_be_judged_is_refused(body: object, status: int, message: str) -> None:
    reply = post(make_app(Puppet()), "/score", body)
    assert reply.status_code == status
    assert message in reply.json()["error"]["message"]


def test_a_rule_judge_asks_the_rule_engine() -> None:
    engine, rules = Puppet(), Puppet(text="1")
    body = {"judge": "math", "item": ITEM}
    reply = post(make_app(engine, rules=rules), "/score", body)
    assert REPLY.validate_json(reply.content)
    assert (len(engine.requests), len(rules.requests)) == (0, 1)
    wrong = post(make_app(engine, rules=rules), "/score", body | {"route_key": "x"})
    assert wrong.status_code == 404


def test_the_sooner_deadline_counts() -> None:
    engine = Puppet(gate=asyncio.Event())
    body = {"judge": "verifier", "item": ITEM, "deadline_s": 0.05}
    reply = post(make_app(engine), "/score", body, headers={"X-Assay-Deadline-S": "60"})
    assert reply.status_code == 200
    assert reply.json()["failure"]["kind"] == "timeout"
    assert engine.cancelled == 1


def test_a_seed_gives_other_draws_and_the_same_one_the_same() -> None:
    def seeds(**more: object) -> list[int]:
        reply = score(Puppet(), **more)
        assert isinstance(reply, VerdictReply)
        return [vote.seed for vote in reply.verdict.votes]

    assert seeds() == seeds(seed=0) != seeds(seed=1)


def test_every_judgment_is_recorded_under_its_request_id(tmp_path: Path) -> None:
    app = make_app(Puppet(), recorder=Recorder(tmp_path))
    body = {"judge": "verifier", "item": ITEM | {"metadata": {"step": 3}}}
    post(app, "/score", body, headers={"x-request-id": "r-17"})
    (path,) = tmp_path.glob("*.parquet")
    (row,) = read_sealed(path)
    assert (row["item_id"], row["judge"], row["outcome"], row["scores"]) == ("r-17", "verifier", "verdict", [1.0])
    assert row["metadata"] == '{"step": 3}'


def test_votes_are_drawn_reduced_and_shown() -> None:
    item = {"prompt": "2+2?", "candidates": ["four", "five"]}
    puppet = Puppet(text="\\boxed{9, 3}")
    reply = score(puppet, "pointwise", item, k=4, orders="balanced")
    assert isinstance(reply, VerdictReply)
    verdict = reply.verdict
    assert [vote.vote for vote in verdict.votes] == [0, 1, 2, 3]
    # The same text in balanced orders: each candidate stands first twice, so all that is left of it is a tie.
    assert verdict.scores == [24.0, 24.0]
    assert verdict.flags == ["tie"]
    assert verdict.choice in (0, 1)
    assert verdict.usage.calls == 4
    assert {request.sampling.temperature for request in puppet.requests} == {0.5}


def test_a_plain_judgment_is_sampled_at_the_serving_temperature() -> None:
    puppet = Puppet(text="1")
    score(puppet)
    assert {request.sampling.temperature for request in puppet.requests} == {0.1}


def test_too_few_valid_votes_are_a_typed_failure() -> None:
    item = {"prompt": "2+2?", "candidates": ["four", "five"]}
    reply = score(Puppet(text="hm"), "pointwise", item, k=2)
    assert isinstance(reply, FailureReply)
    assert reply.failure.kind is FailureKind.PARSE_ERROR
    assert reply.failure.detail.startswith("all 2 votes failed")
    assert [vote.failure for vote in reply.failure.votes] == [FailureKind.PARSE_ERROR] * 2
