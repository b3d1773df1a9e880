"""The example's functions, against a judge service on a real socket."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

from assay.core.types import FailureKind
from assay.rl.rewards.build import build_post_process, build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.sample import Group, Prompt, Reward, Sample, Status

from ..rl.rewards.doubles import engine, sample, serving, started_score
from .commands import EXAMPLE


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def rewarded(
    replies: Mapping[str, Callable[[str], str] | str], config: dict[str, Any], *samples: Sample
) -> tuple[Reward, ...]:
    async def run() -> tuple[Reward, ...]:
        async with serving({key: engine(text) for key, text in replies.items()}) as url:
            reward = build_reward(RewardConfig.model_validate({**config, "genrm_url": url}))
            return await started_score(reward, *samples)

    return asyncio.run(run())


DUAL = {
    "custom_rm_path": f"{EXAMPLE}/reward_dual_genrm_quality_safety.py:reward_func",
    "reward_key": "score",
}


@pytest.mark.parametrize(
    ("quality", "safety", "score"), [("1", "1", 1.0), ("1", "0", 0.0), ("0", "1", 0.0), ("0", " 0\n", 0.0)]
)
def test_two_judges_make_one_reward(quality: str, safety: str, score: float) -> None:
    (one,) = rewarded({"quality": quality, "safety": safety}, DUAL, sample())
    assert one.value == score
    assert one.parts == {"score": score, "quality": float(quality), "safety": float(safety)}


@pytest.mark.parametrize(
    ("quality", "safety", "told"),
    [("1", "It is safe.", "safety must say 1 or 0, and said 'It is safe.'"), ("perhaps", "1", "")],
)
def test_what_cannot_be_read_is_no_zero(quality: str, safety: str, told: str) -> None:
    (one,) = rewarded({"quality": quality, "safety": safety}, DUAL, sample())
    assert one.value is None
    assert one.failure is not None
    assert one.failure.kind is FailureKind.PARSE_ERROR
    assert told in one.failure.detail


STEPS = {
    "custom_steps_path": f"{EXAMPLE}/agentic_steps.py:steps",
    "step_judges": {
        "plan": {"route_key": "planner"},
        "tool_call": {"route_key": "tools"},
        "final_answer": {"judge": "verifier", "route_key": "final"},
    },
}
QUESTION: dict[str, Any] = {"metadata": {"question": "Pens cost 3 coins. What do 4 cost?"}, "label": "12"}


def is_twelve(asked: str) -> str:
    return str(int("sixty" not in asked))


def test_each_step_of_an_answer_goes_to_its_judge() -> None:
    replies: dict[str, Callable[[str], str] | str] = {
        "planner": "\\boxed{7}",
        "tools": "\\boxed{4}",
        "final": is_twelve,
    }
    whole = "plan: multiply\ntool_call: 3 * 4\nfinal_answer: twelve"
    right, wrong = rewarded(
        replies, STEPS, sample(whole, 0, **QUESTION), sample(whole.replace("twelve", "sixty"), 1, **QUESTION)
    )
    assert [step["score"] for step in right.parts["steps"]] == [7.0, 4.0, 1.0]
    assert (right.value, wrong.value) == (4.0, pytest.approx(11 / 3))


def test_steps_that_the_rollout_wrote_are_taken_as_they_are() -> None:
    written = [{"module": "final_answer", "prompt": "2+2?", "response": "4", "label": "4"}]
    (one,) = rewarded(
        {"planner": "1", "tools": "1", "final": "1"}, STEPS, sample(metadata={"trajectory_steps": written})
    )
    assert one.parts["steps"] == [{"module": "final_answer", "score": 1.0}]


def test_how_an_answer_is_cut() -> None:
    cut = module("agentic_steps").cut
    assert cut("plan: a\nb\n  tool_call : 1+1\nfinal_answer: 2") == {
        "plan": "a\nb",
        "tool_call": "1+1",
        "final_answer": "2",
    }
    assert cut("I think that the plan: is good") == {}
    assert cut("plan: a\nplan: b") == {"plan": "a\nb"}, "labels that stand twice earn nothing more"
    assert cut("plan:\ntool_call: ") == {}


def test_a_step_that_is_missing_is_judged_too() -> None:
    steps = module("agentic_steps").steps(None, sample("plan: count", **QUESTION))
    assert [step["module"] for step in steps] == ["plan", "tool_call", "final_answer"]
    assert [step["response"] for step in steps] == ["count", "(nothing)", "(nothing)"]


def test_the_hook_judges_the_batch_and_takes_off_what_was_cut_off() -> None:
    own = [sample("Answer: 4", 0), sample("Answer: 4", 1, status=Status.TRUNCATED), sample("Answer: quux", 2)]
    own.append(sample("Answer: zyzzyva", 3))

    async def run() -> tuple[Group, ...]:
        judge = engine(lambda asked: "hm" if "zyzzyva" in asked else str(int("quux" not in asked)))
        async with serving({"__default__": judge}) as url:
            path = f"{EXAMPLE}/post_process_genrm_swap.py:post_process"
            config = RewardConfig(
                rm_type="dummy",
                defer_reward_to_post_process=True,
                custom_reward_post_process_path=path,
                genrm_url=url,
            )
            hook = build_post_process(config)
            assert hook is not None
            prompt = Prompt(ordinal=3, prompt=own[0].prompt, label="4")
            judged = await hook.score([Group(prompt=prompt, samples=tuple(own))])
            await hook.close()
            return judged

    (group,) = asyncio.run(run())
    rewards = [one.reward for one in group.samples if one.reward is not None]
    assert [one.value for one in rewards] == [1.0, 0.9, 0.0, None]
    assert [one.parts["raw"] for one in rewards[:3]] == [1.0, 1.0, 0.0]
    assert rewards[3].failure is not None
    assert rewards[3].failure.kind is FailureKind.PARSE_ERROR
