import asyncio
import statistics
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind, Message, TokenPrompt
from assay.engines.base import Reward
from assay.engines.fake.reward import FakeRewardConfig, FakeRewardEngine


def chat(text: str) -> ChatPrompt:
    return ChatPrompt(messages=(Message(role="user", content="question"), Message(role="assistant", content=text)))


def ask(engine: FakeRewardEngine, *prompts: Any, seconds: float = 30) -> list[Any]:
    async def together() -> list[Any]:
        calls = (engine.reward(prompt, Deadline.after(seconds)) for prompt in prompts)
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(together())


def test_logits_by_rule_by_key_and_by_default() -> None:
    keyed = FakeRewardEngine(FakeRewardConfig(logits={"right": 2.5, "question": 9.0}, default=-1.0))
    rewards = ask(keyed, chat("all right"), chat("no"))
    assert [reward.logit for reward in rewards] == [2.5, -1.0]
    assert rewards[0] == Reward(logit=2.5, prompt_tokens=3)
    ruled = FakeRewardEngine(rule=lambda turns: float(len(turns[-1])))
    assert ask(ruled, chat("four"), TokenPrompt(token_ids=(1, 22)))[1].logit == 4.0


def test_drawn_logits_follow_from_the_prompt_and_the_seed() -> None:
    prompts = [chat(str(i)) for i in range(400)]
    logits = [reward.logit for reward in ask(FakeRewardEngine(), *prompts)]
    assert logits == [reward.logit for reward in ask(FakeRewardEngine(), *prompts)]
    assert logits[0] != ask(FakeRewardEngine(FakeRewardConfig(seed=1)), prompts[0])[0].logit
    # Five standard errors of the mean and of the deviation of 400 draws.
    assert abs(statistics.fmean(logits)) < 0.25
    assert abs(statistics.pstdev(logits) - 1) < 0.18


def test_faults_come_as_often_as_asked_for_and_again_for_the_same_prompts() -> None:
    config = FakeRewardConfig(faults={"error_502": 0.2, "overloaded": 0.1})
    prompts = [chat(str(i)) for i in range(300)]
    first, second = (ask(FakeRewardEngine(config), *prompts) for _ in range(2))
    kinds = [error.kind if isinstance(error, GenerationError) else None for error in first]
    assert kinds == [error.kind if isinstance(error, GenerationError) else None for error in second]
    assert 40 <= kinds.count(FailureKind.ENGINE_ERROR) <= 85
    assert 12 <= kinds.count(FailureKind.OVERLOADED) <= 50


def test_a_hang_ends_with_the_deadline_and_a_late_answer_comes() -> None:
    [hung] = ask(FakeRewardEngine(FakeRewardConfig(faults={"hang": 1})), chat("a"), seconds=0.02)
    assert hung.kind is FailureKind.TIMEOUT
    [late] = ask(FakeRewardEngine(FakeRewardConfig(faults={"latency": 1}, slow_s=0.01)), chat("a"))
    assert isinstance(late, Reward)


def test_what_a_closed_one_says() -> None:
    async def body() -> None:
        engine = FakeRewardEngine()
        await engine.start()
        assert (await engine.health()).healthy
        await engine.close()
        await engine.close()
        assert not (await engine.health()).healthy
        with pytest.raises(GenerationError):
            await engine.reward(chat("a"), Deadline.never())

    asyncio.run(body())
