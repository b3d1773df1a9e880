from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Candidate, Draw, Failure, FailureKind, Item, Message, Verdict, Vote
from assay.engines.base import EngineInfo
from assay.engines.fake.reward import FakeRewardConfig, FakeRewardEngine
from assay.judges.meta import MetaPrompt
from assay.scoring.cache import VerdictCache
from assay.scoring.meta import MetaScorer

ITEM = Item(
    id="i1",
    messages=(Message(role="user", content="6 times 7?"),),
    candidates=(Candidate(text="42"), Candidate(text="43")),
)


def vote(text: str = "good \\boxed{9, 1}", *, order: tuple[int, ...] = (0, 1), candidate: int | None = None) -> Vote:
    outcome = Verdict(scores=(9.0, 1.0), text=text)
    return Vote(draw=Draw(vote=0, seed=1, order=order), outcome=outcome, candidate=candidate)


def score(meta: MetaScorer, *votes: Vote, item: Item = ITEM, seconds: float = 30) -> list[float | Failure]:
    async def together() -> list[float | Failure]:
        return await asyncio.gather(*(meta.score(item, v, Deadline.after(seconds)) for v in votes))

    return asyncio.run(together())


def fake(**options: Any) -> FakeRewardEngine:
    return FakeRewardEngine(FakeRewardConfig(**options))


def kind(outcome: float | Failure) -> FailureKind:
    assert isinstance(outcome, Failure)
    return outcome.kind


def test_a_vote_gets_the_logit_of_its_text() -> None:
    meta = MetaScorer(fake(logits={"good": 1.67, "bad": -15.78}))
    assert score(meta, vote("good"), vote("bad")) == [1.67, -15.78]
    assert meta.counts.snapshot() == {
        "scored": 2,
        "cached": 0,
        "failures": {},
        "calls": 2,
        "prompt_tokens": meta.counts.usage.prompt_tokens,
    }
    assert meta.counts.usage.prompt_tokens > 0


def test_the_engine_sees_the_order_of_the_draw() -> None:
    seen: list[tuple[str, ...]] = []

    def rule(turns: tuple[str, ...]) -> float:
        seen.append(turns)
        return 0.0

    score(MetaScorer(FakeRewardEngine(rule=rule)), vote(order=(1, 0)))
    assert seen[0][0].index("43") < seen[0][0].index("42")


def test_a_vote_about_one_candidate_is_shown_with_it_alone() -> None:
    seen: list[tuple[str, ...]] = []

    def rule(turns: tuple[str, ...]) -> float:
        seen.append(turns)
        return 0.0

    meta = MetaScorer(FakeRewardEngine(rule=rule))
    # Asked with the whole item or with the part of it: the same question.
    score(meta, vote(order=(0,), candidate=1))
    score(meta, vote(order=(0,), candidate=1), item=ITEM.only(1))
    assert seen[0] == seen[1]
    assert "43" in seen[0][0]
    assert "42" not in seen[0][0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            Vote(draw=Draw(vote=0, seed=1, order=(0, 1)), outcome=Failure(kind=FailureKind.PARSE_ERROR, detail="x")),
            "parse_error",
        ),
        (vote("  "), "no text"),
        (vote(order=(0, 1, 2)), "3 candidates, item 'i1' has 2"),
    ],
)
def test_what_cannot_be_asked_is_a_failure_and_no_call(asked: Vote, words: str) -> None:
    engine = fake()
    [outcome] = score(MetaScorer(engine), asked)
    assert kind(outcome) is FailureKind.META_ERROR
    assert isinstance(outcome, Failure)
    assert words in outcome.detail
    assert engine.calls == 0


def test_an_item_that_cannot_be_shown_is_a_failure() -> None:
    [outcome] = score(MetaScorer(fake()), vote(), item=Item(id="i", messages=(), candidates=ITEM.candidates))
    assert kind(outcome) is FailureKind.META_ERROR


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"faults": {"error_502": 1}}, FailureKind.ENGINE_ERROR),
        ({"faults": {"overloaded": 1}}, FailureKind.OVERLOADED),
        ({"faults": {"hang": 1}}, FailureKind.TIMEOUT),
        ({"context_len": 2}, FailureKind.CONTEXT_OVERFLOW),
    ],
)
def test_a_failure_keeps_its_kind_and_is_counted(options: dict[str, Any], expected: FailureKind) -> None:
    meta = MetaScorer(fake(**options))
    [outcome] = score(meta, vote(), seconds=0.2)
    assert kind(outcome) is expected
    assert meta.counts.snapshot()["failures"] == {str(expected): 1}


@pytest.mark.parametrize("logit", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_is_no_logit(logit: float) -> None:
    [outcome] = score(MetaScorer(FakeRewardEngine(rule=lambda _: logit)), vote())
    assert kind(outcome) is FailureKind.META_ERROR


def test_a_fault_inside_the_engine_costs_one_vote(caplog: pytest.LogCaptureFixture) -> None:
    def rule(turns: tuple[str, ...]) -> float:
        if "bad" in turns[-1]:
            raise ZeroDivisionError("inside")
        return 2.0

    good, bad = score(MetaScorer(FakeRewardEngine(rule=rule)), vote("good"), vote("bad"))
    assert good == 2.0
    assert isinstance(bad, Failure)
    assert bad.kind is FailureKind.META_ERROR
    assert "ZeroDivisionError: inside" in bad.detail
    assert "failed in a way it should not" in caplog.text


def test_equal_questions_at_once_are_one_call() -> None:
    engine = fake(latency_s=0.05)
    meta = MetaScorer(engine)
    logits = score(meta, *[vote()] * 5)
    assert len(set(logits)) == 1
    assert engine.calls == 1
    assert meta.counts.cached == 4


def test_the_deadline_of_another_does_not_fail_us() -> None:
    engine = fake(latency_s=0.3, default=1.0)
    meta = MetaScorer(engine)

    async def both() -> list[float | Failure]:
        hasty = asyncio.create_task(meta.score(ITEM, vote(), Deadline.after(0.1)))
        await asyncio.sleep(0.01)
        patient = asyncio.create_task(meta.score(ITEM, vote(), Deadline.after(60)))
        return [await hasty, await patient]

    hasty, patient = asyncio.run(both())
    assert kind(hasty) is FailureKind.TIMEOUT
    assert patient == 1.0


def test_logits_are_remembered_on_disk_and_failures_are_not(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    cache = VerdictCache(path)
    first = score(MetaScorer(fake(), cache=cache), vote("a"), vote("b"))
    score(MetaScorer(fake(faults={"error_502": 1}), cache=cache), vote("c"))
    cache.close()

    again, engine = VerdictCache(path), fake()
    meta = MetaScorer(engine, cache=again)
    assert score(meta, vote("a"), vote("b")) == first
    assert engine.calls == 0
    assert meta.counts.cached == 2
    assert isinstance(score(meta, vote("c"))[0], float)
    assert engine.calls == 1
    again.close()


def test_another_model_or_language_is_another_question() -> None:
    cache = VerdictCache()
    one, other = fake(default=1.0), fake(model="other", default=2.0)
    assert score(MetaScorer(one, cache=cache), vote()) == [1.0]
    assert score(MetaScorer(other, cache=cache), vote()) == [2.0]
    score(MetaScorer(one, cache=cache, prompt=MetaPrompt(language="zh")), vote())
    assert one.calls == 2
    identities = {MetaScorer(one).identity, MetaScorer(other).identity}
    identities.add(MetaScorer(one, prompt=MetaPrompt(language="zh")).identity)
    assert len(identities) == 3
    assert MetaScorer(one).identity == MetaScorer(fake(default=3.0)).identity


def test_a_model_without_a_chat_template_is_no_meta_rm() -> None:
    class TokensOnly(FakeRewardEngine):
        @property
        def info(self) -> EngineInfo:
            return replace(super().info, capabilities=frozenset({"tokens"}))

    with pytest.raises(InputError, match="no chat template"):
        asyncio.run(MetaScorer(TokensOnly()).start())


def test_start_and_close_are_those_of_the_engine() -> None:
    async def body() -> None:
        meta = MetaScorer(fake())
        await meta.start()
        assert meta.info.model == "fake-reward"
        await meta.close()
        assert not (await meta.engine.health()).healthy
        assert kind(await meta.score(ITEM, vote(), Deadline.never())) is FailureKind.ENGINE_ERROR

    asyncio.run(body())
