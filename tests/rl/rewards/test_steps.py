"""Trajectories: every step by the judge of its module, one number out of them, failures that name their step."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import FailureKind, Message
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.rewards.steps import steps_of
from assay.rl.sample import Reward

from .doubles import CHAT, engine, sample, serving, started_score

HERE = Path(__file__).with_name("functions.py")
STEPS = [
    {"module": "plan", "response": "first add, then check"},
    {"module": "tool_call", "prompt": "add 2 and 2", "output": "add(2, 2)"},
    {"module": "answer", "input": "2+2?", "content": "Answer: 4", "label": "4"},
]


def test_the_form_of_a_step() -> None:
    plan, call, answer = steps_of(sample(metadata={"trajectory_steps": STEPS}))
    assert (plan.module, plan.item.messages, plan.item.candidates[0].text) == ("plan", CHAT, "first add, then check")
    assert (call.item.messages, call.item.reference) == ((Message(role="user", content="add 2 and 2"),), None)
    assert (answer.item.question, answer.item.reference) == ("2+2?", "4")
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    (step,) = steps_of(sample(metadata={"trajectory_steps": [{"module": "m", "messages": chat, "response": "r"}]}))
    assert [(turn.role, turn.text) for turn in step.item.messages] == [("system", "s"), ("user", "u")]


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"other": 1}, r"must be a list of steps; the metadata hold other"),
        ({"trajectory_steps": "plan"}, "must be a list of steps"),
        ({"trajectory_steps": ["plan"]}, "3/0 step 1: a step must be an object"),
        ({"trajectory_steps": [{"module": "plan"}]}, "needs a text under 'module' and one under response or output"),
        ({"trajectory_steps": [{"module": "m", "response": "r", "prompt": 3}]}, "neither a text nor a list of role"),
    ],
)
def test_what_is_no_trajectory(metadata: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        steps_of(sample(metadata=metadata))


def judged(steps: list[dict[str, Any]], how: str = "mean", **texts: str) -> tuple[Reward, dict[str, int]]:
    """The reward of a trajectory, and how often each judge was asked."""
    return _judged({"metadata": {"trajectory_steps": steps}}, {"step_aggregate": how}, texts)


def _judged(trajectory: dict[str, Any], more: dict[str, Any], texts: dict[str, str]) -> tuple[Reward, dict[str, int]]:

    async def run() -> tuple[Reward, dict[str, int]]:
        said = {"planner": "\\boxed{4}", "tools": "\\boxed{9}", "final": "1"} | texts
        engines = {key: engine(text) for key, text in said.items()}
        async with serving(engines) as url:
            config = {
                "genrm_url": url,
                **more,
                "step_judges": {
                    "plan": {"route_key": "planner"},
                    "answer": {"judge": "verifier", "route_key": "final"},
                    "*": {"judge": "pointwise", "route_key": "tools"},
                },
            }
            reward = build_reward(RewardConfig.model_validate(config))
            (one,) = await started_score(reward, sample(**trajectory))
        return one, {key: engine.calls for key, engine in engines.items()}

    return asyncio.run(run())


@pytest.mark.parametrize(("how", "value"), [("mean", 14 / 3), ("min", 1.0), ("last", 1.0), (f"{HERE}:total", 42.0)])
def test_every_step_is_judged_by_the_judge_of_its_module(how: str, value: float) -> None:
    reward, calls = judged(STEPS, how)
    assert reward.value == pytest.approx(value)
    assert calls == {"planner": 1, "tools": 1, "final": 1}
    assert reward.parts["steps"] == [
        {"module": "plan", "score": 4.0},
        {"module": "tool_call", "score": 9.0},
        {"module": "answer", "score": 1.0},
    ]
    assert reward.parts["score"] == reward.value


def test_an_answer_can_be_cut_into_steps() -> None:
    cut = {"custom_steps_path": f"{HERE}:lines_as_steps"}
    answer = {"response": "plan: add\nsearch: 2+2\nanswer: 4", "metadata": {"question": "2+2?"}}
    reward, calls = _judged({**answer, "label": "4"}, cut, {})
    assert calls == {"planner": 1, "tools": 1, "final": 1}
    assert reward.value == pytest.approx(14 / 3)
    assert [step["module"] for step in reward.parts["steps"]] == ["plan", "search", "answer"]


def test_a_cutter_that_raises_fails_the_sample_and_asks_nobody() -> None:
    reward, calls = _judged({"response": "plan: add"}, {"custom_steps_path": f"{HERE}:no_steps"}, {})
    assert reward.failure is not None
    assert "no_steps raised ValueError: this is no trajectory" in reward.failure.detail
    assert calls == {"planner": 0, "tools": 0, "final": 0}


def test_a_cutter_without_step_judges_is_refused() -> None:
    with pytest.raises(ValueError, match=r"custom_steps_path 'a\.b' has no effect without step_judges"):
        RewardConfig(rm_type="math", custom_steps_path="a.b")


def test_equal_steps_are_asked_once() -> None:
    reward, calls = judged([STEPS[1], STEPS[1], STEPS[1]])
    assert (reward.value, calls["tools"]) == (9.0, 1)


def test_a_step_that_fails_makes_the_whole_fail_and_is_named() -> None:
    reward, _ = judged(STEPS, tools="no box")
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.PARSE_ERROR
    assert reward.failure.detail.startswith("step 2 of 3 (tool_call): ")
    assert reward.parts["steps"][1] == {"module": "tool_call", "score": None, "failure": "parse_error"}


def test_a_trajectory_without_steps_is_a_failure() -> None:
    reward, _ = judged([])
    assert reward.failure is not None
    assert "no steps" in reward.failure.detail


def test_a_module_that_nobody_judges_stops_the_run() -> None:
    config = RewardConfig.model_validate({"step_judges": {"plan": {}}, "genrm_url": "http://127.0.0.1:9/genrm"})
    reward = build_reward(config)
    with pytest.raises(InputError, match=r"no judge for module 'tool_call'; --step-judges has \['plan'\]"):
        asyncio.run(_score(reward, STEPS[1:]))


async def _score(reward: Any, steps: list[dict[str, Any]]) -> None:
    from assay.core.deadline import Deadline

    try:
        await reward.score([sample(metadata={"trajectory_steps": steps})], Deadline.after(5))
    finally:
        await reward.close()
