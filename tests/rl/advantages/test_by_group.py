"""Estimators that compare within a group: by hand, by DeepSeek-GRM's figures, and for groups with failed judgments."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.rl.advantages.dr_grpo import dr_grpo
from assay.rl.advantages.group import LeftOut
from assay.rl.advantages.grpo import grpo
from assay.rl.advantages.gspo import gspo
from assay.rl.advantages.rloo import rloo

GOLDEN = Path(__file__).parents[3] / "../shared/data/golden/grm_core.json"
ESTIMATORS = (grpo, gspo, dr_grpo, rloo)
REWARDS = st.lists(st.none() | st.floats(-100, 100), min_size=1, max_size=12)


def close(wanted: list[float | None], tolerance: float = 1e-5) -> object:
    return tuple(None if value is None else pytest.approx(value, abs=tolerance) for value in wanted)


@pytest.mark.parametrize(
    ("estimator", "options", "rewards", "wanted"),
    [
        # One right answer in four, as DeepSeek-GRM's group of 4: both deviations.
        (grpo, {}, [1, 0, 0, 0], [math.sqrt(3), -1 / math.sqrt(3), -1 / math.sqrt(3), -1 / math.sqrt(3)]),
        (grpo, {"std": "sample"}, [1, 0, 0, 0], [1.5, -0.5, -0.5, -0.5]),
        (grpo, {"std": "sample", "eps": 0.5}, [1, 0, 0, 0], [0.75, -0.25, -0.25, -0.25]),
        (dr_grpo, {}, [1, 0, 0, 0], [0.75, -0.25, -0.25, -0.25]),
        (rloo, {}, [1, 0, 0, 0], [1, -1 / 3, -1 / 3, -1 / 3]),
        (rloo, {}, [3, 1], [2, -2]),
    ],
)
def test_by_hand(estimator, options, rewards, wanted) -> None:
    assert estimator(rewards, **options).advantages == close(wanted)


@pytest.mark.skipif(not GOLDEN.exists(), reason="needs golden/grm_core.json of the shared data")
def test_the_golden_figures_of_deepseek_grm() -> None:
    golden = json.loads(GOLDEN.read_text())
    for std, name in (("population", "grpo_pop_std"), ("sample", "grpo_sample_std")):
        for case, wanted in golden[name].items():
            right = int(case[0])
            assert grpo([1] * right + [0] * (4 - right), std=std).advantages == close(wanted)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_failed_judgment_is_in_no_mean_and_no_deviation(estimator) -> None:
    found = estimator([1, None, 0, 0])
    alone = estimator([1, 0, 0])
    assert found.advantages == (alone.advantages[0], None, *alone.advantages[1:])
    assert found.reasons == (None, LeftOut.JUDGMENT_FAILED, None, None)
    assert (found.stats.size, found.stats.valid) == (4, 3)
    assert found.stats.mean == pytest.approx(1 / 3)
    assert found.trained == (True, False, True, True)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("rewards", [[], [None, None], [None, 1.0], [1.0]])
def test_a_group_with_fewer_than_two_valid_samples_is_left_out_whole(estimator, rewards) -> None:
    found = estimator(rewards)
    assert found.advantages == (None,) * len(rewards)
    wanted = [LeftOut.JUDGMENT_FAILED if reward is None else LeftOut.TOO_FEW_VALID for reward in rewards]
    assert found.reasons == tuple(wanted)
    assert not found.stats.dead


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("rewards", [[0.1] * 3, [0, 0, None], [0.1 + 0.2, 0.3, 0.3], [1e9 + 1e-3, 1e9]])
def test_equal_rewards_are_a_dead_group_and_no_noise_is_blown_up(estimator, rewards) -> None:
    found = estimator(rewards)
    assert {advantage for advantage in found.advantages if advantage is not None} == {0.0}
    assert found.stats.dead


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_what_is_neither_reward_nor_failure_is_refused(estimator, reward) -> None:
    with pytest.raises(InputError, match="None where the judgment failed"):
        estimator([1.0, reward])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(rewards=REWARDS, data=st.data())
def test_the_order_of_samples_changes_nothing(estimator, rewards, data) -> None:
    order = data.draw(st.permutations(range(len(rewards))))
    straight, mixed = estimator(rewards), estimator([rewards[i] for i in order])
    assert mixed.advantages == tuple(straight.advantages[i] for i in order)
    assert mixed.reasons == tuple(straight.reasons[i] for i in order)
    assert mixed.stats == straight.stats


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(rewards=REWARDS)
def test_failures_leave_the_others_as_if_they_had_never_been_sampled(estimator, rewards) -> None:
    valid = [reward for reward in rewards if reward is not None]
    found = estimator(rewards)
    kept = tuple(a for a, reward in zip(found.advantages, rewards, strict=True) if reward is not None)
    assert kept == estimator(valid).advantages
    assert all((a is None) == (why is not None) for a, why in zip(found.advantages, found.reasons, strict=True))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(rewards=REWARDS)
def test_advantages_sum_to_zero_and_rise_with_the_reward(estimator, rewards) -> None:
    found = estimator(rewards)
    pairs = sorted((r, a) for r, a in zip(rewards, found.advantages, strict=True) if r is not None and a is not None)
    assert math.fsum(a for _, a in pairs) == pytest.approx(0, abs=1e-6)
    assert [a for _, a in pairs] == sorted(a for _, a in pairs)


def test_an_unknown_deviation_is_refused() -> None:
    with pytest.raises(InputError, match="biased"):
        grpo([1, 0], std="biased")
