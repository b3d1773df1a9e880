from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.types import Failure, FailureKind
from assay.rl.rewards.picked import Picked, picked
from assay.rl.sample import Group, Prompt, Reward

from .doubles import CHAT, sample

FAILED = Failure(kind=FailureKind.TIMEOUT, detail="late")


def reward(parts: dict[str, Any], value: float | None = 1.0) -> Reward:
    return Reward(value=value, failure=FAILED if value is None else None, parts=parts, judge="mine", text="so")


def test_another_entry_is_the_reward() -> None:
    found = picked(reward({"score": 1.0, "acc": 0}), "acc")
    assert (found.value, found.judge, found.text) == (0.0, "mine", "so")
    assert dict(found.parts) == {"score": 1.0, "acc": 0}


@pytest.mark.parametrize("entry", [float("nan"), "yes", True])
def test_an_entry_that_is_no_number_is_a_failure_that_names_it(entry: object) -> None:
    found = picked(reward({"acc": entry}), "acc")
    assert found.failure is not None
    assert "acc" in found.failure.detail


def test_an_entry_that_is_not_there_is_a_failure_that_says_what_is() -> None:
    found = picked(reward({"score": 1.0}), "acc")
    assert found.failure is not None
    assert "['score']" in found.failure.detail
    assert picked(reward({"acc": None}), "acc").failure is not None


def test_a_judgment_that_failed_stays_what_it_is_unless_it_has_the_entry() -> None:
    assert picked(reward({"score": None, "acc": None}, None), "acc").failure == FAILED
    assert picked(reward({"score": None, "acc": 1.0}, None), "acc").value == 1.0


def test_answers_without_a_reward_have_none() -> None:
    group = Group(
        prompt=Prompt(ordinal=3, prompt=CHAT), samples=(sample(reward=None), sample(reward=reward({"acc": 2})))
    )
    (found,) = asyncio.run(Picked("acc").score([group]))
    assert [one.reward and one.reward.value for one in found.samples] == [None, 2.0]
