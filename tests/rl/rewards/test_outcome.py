"""The reward of a policy that is a judge: eq. 11 on its own verdict, by hand and by the golden cases."""

from __future__ import annotations

import asyncio
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.rewards.outcome import OutcomeReward
from assay.rl.sample import Prompt, Reward, Status

from .doubles import sample, started_score

GOLDEN = Path(__file__).parents[4] / "shared" / "data" / "golden" / "grm_core.json"


def asked(judge: str = "pointwise", gold: tuple[float, ...] = (1, 0), **fields: Any) -> dict[str, Any]:
    order = fields.pop("order", tuple(range(len(gold))))
    return {"verdict": {"judge": judge, "gold": gold, "order": order, **fields}}


def earned(response: str, metadata: dict[str, Any], bonus: float = 0.0, **fields: Any) -> Reward:
    built = build_reward(RewardConfig(rm_type="grm-outcome", grm_readable_bonus=bonus))
    (reward,) = asyncio.run(started_score(built.reward, sample(response, metadata=metadata, **fields)))
    return reward


@pytest.mark.skipif(not GOLDEN.exists(), reason="the shared golden data are not beside this checkout")
def test_golden_cases_of_eq_11() -> None:
    for case in json.loads(GOLDEN.read_text())["eq11"]:
        scores = case["S"]
        if "gt" in case:
            metadata = asked(gold=(case["gt"],), options={"mode": "0-1"})
        else:
            metadata = asked(gold=tuple(float(place == case["j"]) for place in range(len(scores or [0, 0]))))
        text = "I cannot say" if scores is None else f"\\boxed{{{', '.join(map(str, scores))}}}"
        assert earned(text, metadata).value == case["r"], case


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_the_candidates_were_shown_is_undone(order: tuple[int, ...]) -> None:
    gold = (0.0, 1.0, 0.0)
    place = order.index(1)
    box = ", ".join("9" if index == place else "3" for index in range(3))
    assert earned(f"\\boxed{{{box}}}", asked(gold=gold, order=order)).value == 1.0
    assert earned(f"\\boxed{{{place + 1}}}", asked("pairwise", gold, order=order)).value == 1.0
    assert earned(f"\\boxed{{{(place + 1) % 3 + 1}}}", asked("pairwise", gold, order=order)).value == -1.0


@pytest.mark.parametrize("text", ["", "no verdict", "\\boxed{7}", "\\boxed{7, 5, 3}", "<think>\\boxed{9, 1}"])
def test_an_answer_without_a_verdict_earns_minus_one_and_is_no_failure(text: str) -> None:
    reward = earned(text, asked())
    assert (reward.value, reward.failure) == (-1.0, None)
    assert (reward.parts["score"], reward.parts["readable"]) == (-1.0, 0.0)
    assert reward.text


def test_a_reward_for_form_is_off_and_can_be_turned_on() -> None:
    texts = ("\\boxed{9, 1}", "\\boxed{1, 9}", "none")
    assert [earned(text, asked(), 0.2).value for text in texts] == [1.2, -0.8, -1.0]
    assert [earned(text, asked()).value for text in texts] == [1.0, -1.0, -1.0]


def test_an_answer_that_the_rollout_never_gave_is_a_failure_as_everywhere() -> None:
    failure = Failure(kind=FailureKind.TIMEOUT, detail="late")
    reward = earned("", asked(), status=Status.FAILED, failure=failure)
    assert (reward.value, reward.failure) == (None, failure)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "metadata has no 'verdict'"),
        (asked(order=(0, 0)), "no order of 2 candidates"),
        (asked(gold=(1, 1)), "no single best"),
        (asked("nobody"), "unknown judge 'nobody'"),
        ({"verdict": {"judge": "pointwise"}}, "order"),
    ],
)
def test_prompts_are_checked_before_anything_is_rolled_out(metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        OutcomeReward().check(Prompt(ordinal=0, prompt="q", metadata=metadata))


def test_flags_without_effect_are_refused() -> None:
    for said in ({"rm_type": "grm-outcome", "judge": "pointwise"}, {"rm_type": "math", "grm_readable_bonus": 0.1}):
        with pytest.raises(ValidationError):
            RewardConfig.model_validate(said)
