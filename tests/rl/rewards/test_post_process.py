"""The hook on a whole batch: that of the seeds, one that gives rewards alone, one that asks a judge, and wrong ones."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind
from assay.rl.rewards.build import build_post_process, build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.rewards.dummy import DummyReward
from assay.rl.rewards.judge import JudgeReward
from assay.rl.rewards.post_process import PostProcess
from assay.rl.sample import Group, Prompt, Sample, Status
from assay.scoring.scorer import Scorer

from .doubles import CHAT, engine, sample, serving

HERE = Path(__file__).with_name("functions.py")
NO_ANSWER = Failure(kind=FailureKind.ENGINE_ERROR, detail="lost")


def group(*samples: Sample) -> Group:
    return Group(prompt=Prompt(ordinal=3, prompt=CHAT, label="4"), samples=samples)


BATCH = (group(sample("a"), sample("abc", 1)), group(sample("4"), sample("22", 1)))


def hook(name: str, **said: Any) -> PostProcess:
    config = RewardConfig(
        rm_type="dummy",
        defer_reward_to_post_process=True,
        custom_reward_post_process_path=f"{HERE}:{name}",
        **said,
    )
    found = build_post_process(config, {"n_samples_per_prompt": 2})
    assert found is not None
    return found


async def scored(process: PostProcess, groups: tuple[Group, ...] = BATCH) -> list[Sample]:
    try:
        return [one for each in await process.score(groups) for one in each.samples]
    finally:
        await process.close()


def test_the_seeds_hook_gives_raw_and_normalised_rewards() -> None:
    samples = asyncio.run(scored(hook("custom_reward_post_process", reward_key="score")))
    assert [one.reward and one.reward.value for one in samples] == [-1.0, 1.0, -0.5, 0.5]
    assert [one.reward and dict(one.reward.parts) for one in samples] == [
        {"score": raw, "raw": raw} for raw in (1.0, 3.0, 1.0, 2.0)
    ]
    assert [one.metadata for one in samples] == [{}] * 4


def test_a_hook_that_gives_rewards_alone() -> None:
    samples = asyncio.run(scored(hook("only_rewards")))
    assert [one.reward and one.reward.value for one in samples] == [0.0, 0.0, 1.0, 0.0]
    two = asyncio.run(scored(hook("only_rewards"), BATCH[:1]))
    assert [one.reward and one.reward.value for one in two] == [0.0, 0.0]


def test_a_hook_that_asks_the_judge() -> None:
    async def run() -> None:
        async with serving({"quality": engine(lambda text: "1" if text == "4" else "0")}) as url:
            samples = await scored(hook("judged_in_batch", genrm_url=url))
        assert [one.reward and one.reward.value for one in samples] == [0.0, 0.0, 1.0, 0.0]

    asyncio.run(run())


def test_answers_that_the_rollout_never_gave_are_not_shown_to_it() -> None:
    lost = sample("", 1, status=Status.FAILED, failure=NO_ANSWER)
    first, second = asyncio.run(scored(hook("only_rewards"), (group(sample("4"), lost),)))
    assert first.reward is not None
    assert second.reward is None


def test_a_hook_that_raises_is_a_failure_for_every_sample() -> None:
    samples = asyncio.run(scored(hook("raises")))
    for one in samples:
        assert one.reward is not None
        assert one.reward.failure is not None
        assert "raised KeyError: 'label'" in one.reward.failure.detail


def test_a_hook_may_take_samples_out() -> None:
    assert all(one.reward and one.reward.value is None for one in asyncio.run(scored(hook("takes_all_out"))))


def test_a_hook_with_another_number_of_rewards_stops_the_run() -> None:
    with pytest.raises(InputError, match="too_few returned 1 rewards for 4 samples"):
        asyncio.run(scored(hook("too_few")))


def test_a_hook_that_is_not_there_is_refused_when_it_is_built() -> None:
    with pytest.raises(InputError, match=r"--custom-reward-post-process-path.*there is no 'nothing'"):
        hook("nothing")


def test_deferred_rewards_without_a_hook_are_those_of_a_judge() -> None:
    backends = {"__default__": Scorer(engine("1"))}
    swap = RewardConfig(rm_type="dummy", defer_reward_to_post_process=True)
    reward = build_reward(swap, backends=backends)
    assert isinstance(reward.reward, JudgeReward)
    assert asyncio.run(reward.score([sample()], Deadline.after(5)))[0].value == 1.0
    named = RewardConfig(rm_type="dummy", defer_reward_to_post_process=True, judge="pointwise")
    assert isinstance(build_reward(named, backends=backends).reward, JudgeReward)
    hooked = swap.model_copy(update={"custom_reward_post_process_path": f"{HERE}:only_rewards"})
    assert isinstance(build_reward(hooked, backends=backends).reward, DummyReward)
    assert build_post_process(swap) is None
