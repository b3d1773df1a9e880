"""Several rewards as one: weights, parts, and what a part that fails does to the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind
from assay.rl.rewards.base import ChecksPrompts
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.combined import Part, combine
from assay.rl.rewards.config import RewardConfig
from assay.rl.rewards.dummy import DummyReward
from assay.rl.sample import Prompt, Reward

from .doubles import CHAT, engine, sample, serving, started_score

LOST = Reward(failure=Failure(kind=FailureKind.TIMEOUT, detail="late"), judge="j")


def parts(*weights: float, required: Sequence[bool] = ()) -> list[Part]:
    needed = list(required) or [True] * len(weights)
    return [
        Part(name="abc"[place], reward=DummyReward(), weight=weight, required=needed[place])
        for place, weight in enumerate(weights)
    ]


def test_a_weighted_sum_with_every_part_told() -> None:
    quality = Reward(value=0.5, parts={"score": 0.5, "acc": 1}, judge="q", text="fine")
    length = Reward(value=4.0, judge="l")
    whole = combine(parts(2.0, -0.25), [quality, length])
    assert whole.value == 0.0
    assert whole.parts == {"a": 0.5, "a.acc": 1, "b": 4.0, "score": 0.0}
    assert (whole.judge, whole.text) == ("q, l", "[a] fine")


def test_a_part_that_fails_is_a_failure_of_the_whole_and_is_named() -> None:
    whole = combine(parts(1.0, 1.0), [Reward(value=1.0), LOST])
    assert whole.failure is not None
    assert (whole.failure.kind, whole.failure.detail) == (FailureKind.TIMEOUT, "part 'b': late")
    assert whole.parts == {"score": None, "a": 1.0, "b": None, "b.failure": "timeout"}


def test_an_optional_part_that_fails_leaves_its_weight_to_the_others() -> None:
    pieces = parts(3.0, 1.0, required=(True, False))
    assert combine(pieces, [Reward(value=0.5), Reward(value=0.5)]).value == 2.0
    assert combine(pieces, [Reward(value=0.5), LOST]).value == 2.0
    assert combine(pieces, [LOST, Reward(value=0.5)]).failure is not None
    both = combine(parts(1.0, 1.0, required=(False, False)), [LOST, LOST])
    assert both.failure is not None


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(-5, 5), st.booleans()), min_size=1, max_size=3))
def test_the_whole_lies_where_its_parts_lie(drawn: list[tuple[float, float, bool]]) -> None:
    """With weights above 0 the value per weight is between the least and the greatest part, whoever is missing."""
    pieces = parts(*(weight for weight, _, _ in drawn), required=[False] * len(drawn))
    rewards = [LOST if lost else Reward(value=value) for _, value, lost in drawn]
    whole = combine(pieces, rewards)
    given_values = [value for _, value, lost in drawn if not lost]
    assert (whole.value is None) == (not given_values)
    if whole.value is not None:
        share = whole.value / sum(weight for weight, _, _ in drawn)
        assert min(given_values) - 1e-9 <= share <= max(given_values) + 1e-9


def test_two_judges_of_one_service_and_a_function() -> None:
    async def run() -> None:
        config = {
            "reward_parts": {
                "right": {"rm_type": "dapo-genrm", "route_key": "quality", "weight": 1.0},
                "style": {"judge": "pointwise", "route_key": "safety", "weight": 0.1},
            }
        }
        quality, safety = engine("1"), engine("\\boxed{7}")
        async with serving({"quality": quality, "safety": safety}) as url:
            reward = build_reward(RewardConfig.model_validate({**config, "genrm_url": url}))
            assert isinstance(reward.reward, ChecksPrompts)
            reward.reward.check(Prompt(ordinal=0, prompt=CHAT, label="4"))
            with pytest.raises(InputError, match="no reference"):
                reward.reward.check(Prompt(ordinal=0, prompt=CHAT))
            (one,) = await started_score(reward, sample())
        assert one.value == pytest.approx(1.7)
        assert one.parts == {"score": one.value, "right": 1.0, "right.acc": 1, "right.pred": "1", "style": 7.0}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"reward_parts": {"score": {"rm_type": "math"}}}, "'score' is the name of the sum"),
        (
            {"reward_parts": {"a": {"rm_type": "math", "required": False}, "b": {"rm_type": "math", "weight": -1}}},
            "all weights must be above 0",
        ),
        ({"reward_parts": {"a": {"rm_type": "judge"}}}, "reward_parts 'a': rm_type 'judge' needs a judge"),
        ({"reward_parts": {"a": {"wheight": 1}}}, "Extra inputs are not permitted"),
        ({"custom_rm_path": "a.b", "judge": "pointwise"}, "custom_rm_path and judge each say what the reward is"),
        ({"rm_type": "math", "judge": "pointwise"}, "rm_type 'math' has a judge of its own"),
        ({"rm_type": "dummy", "judge": "pointwise"}, "has no effect"),
        ({"rm_type": "dapo"}, "rm_type"),
        ({"judge": "pointwise", "reward_voting": {"kk": 3}}, "Extra inputs are not permitted"),
        ({"judge": "pointwise", "reward_voting": {"k": 3, "k_meta": 2}}, "needs a meta RM"),
        ({"max_judge_failure_rate": 1.5}, "max_judge_failure_rate"),
    ],
)
def test_flags_that_do_not_go_together(said: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        RewardConfig.model_validate(said)


def test_a_part_that_names_nothing_is_refused_by_its_name() -> None:
    config = RewardConfig.model_validate({"reward_parts": {"style": {"weight": 2}}})
    with pytest.raises(InputError, match="reward_parts 'style': nothing says what an answer earns"):
        build_reward(config)
