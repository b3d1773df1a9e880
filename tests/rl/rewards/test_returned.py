"""What counts as a reward: finite numbers and nothing else, of any library; the rest is a failure or an error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind
from assay.rl.rewards.returned import read_reward, read_rewards
from assay.rl.sample import Reward

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["score", "acc"]), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        (1, 1.0),
        (-0.5, -0.5),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.array(2.0), 2.0),
        ({"score": np.float32(0.25), "acc": 1}, 0.25),
    ],
)
def test_numbers(returned: Any, value: float) -> None:
    reward = read_reward(returned, "score", "m.fn")
    assert (reward.value, reward.failure, reward.judge) == (value, None, "m.fn")
    assert all(type(part) in (int, float) for part in reward.parts.values())


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "returned no reward (None)"),
        (math.nan, "it is nan"),
        (math.inf, "it is inf"),
        (True, "must be a number, got True (bool)"),
        (np.bool_(False), "must be a number, got False"),
        ("1", "must be a number, got '1' (str)"),
        ([1.0], "must be a number, got [1.0] (list)"),
        (np.array([1.0, 2.0]), "must be a number"),
        ({"acc": 1}, "without 'score' (--reward-key); it has ['acc']"),
        ({"score": None, "acc": None}, "returned no reward (None)"),
        ({"score": math.nan}, "entry 'score' is nan"),
    ],
)
def test_what_is_no_number_is_a_failure_that_says_why(returned: Any, told: str) -> None:
    reward = read_reward(returned, "score", "m.fn")
    assert reward.value is None
    assert reward.failure is not None
    assert reward.failure.kind is FailureKind.PARSE_ERROR
    assert told in reward.failure.detail


def test_typed_rewards_and_failures_pass_through() -> None:
    failure = Failure(kind=FailureKind.REFUSED, detail="no")
    assert read_reward(failure, None, "m.fn").failure is failure
    mine = Reward(value=2.0, judge="me")
    assert read_reward(mine, None, "m.fn") is mine


def test_a_dict_and_no_reward_key_is_an_error() -> None:
    with pytest.raises(InputError, match=r"dict with \['score', 'acc'\]: say with --reward-key"):
        read_reward({"score": 1, "acc": 1}, None, "m.fn")


@pytest.mark.parametrize("returned", [[1.0], [1.0, 2.0, 3.0], [], ()])
def test_a_wrong_number_of_rewards_is_an_error(returned: Any) -> None:
    with pytest.raises(InputError, match=f"returned {len(returned)} rewards for 2 samples"):
        read_rewards(returned, 2, None, "m.fn")


@pytest.mark.parametrize("returned", [None, 1.0, {"score": 1}, "ab"])
def test_no_list_is_an_error(returned: Any) -> None:
    with pytest.raises(InputError, match="must return a list"):
        read_rewards(returned, 2, None, "m.fn")


def test_lists_of_any_kind() -> None:
    for returned in ([1, 2], (1, 2), np.array([1.0, 2.0])):
        assert [one.value for one in read_rewards(returned, 2, None, "m.fn")] == [1.0, 2.0]


@given(ANYTHING)
def test_anything_is_a_finite_value_or_a_failure(returned: Any) -> None:
    reward = read_reward(returned, "score", "m.fn")
    assert (reward.value is None) != (reward.failure is None)
    assert reward.value is None or math.isfinite(reward.value)
