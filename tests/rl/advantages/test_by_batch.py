"""REINFORCE++: the batch as the baseline, with and without the KL in the reward, by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rl.advantages.group import LeftOut
from assay.rl.advantages.kl_reward import kl_penalised, returns_to_go
from assay.rl.advantages.reinforce_plus_plus import reinforce_plus_plus, reinforce_plus_plus_tokens
from assay.rl.advantages.whiten import whiten


def test_whitening_by_hand() -> None:
    # 1 once and 0 three times: mean 1/4, variance 3/16 over n, 1/4 over n - 1.
    assert whiten([1, 0], [1, 3], std="population", eps=0) == pytest.approx([math.sqrt(3), -1 / math.sqrt(3)])
    assert whiten([1, 0], [1, 3], std="sample", eps=0) == pytest.approx([1.5, -0.5])
    assert whiten([2, 2, 9], [1, 3, 0], std="population", eps=0) == [0, 0, 0]
    assert whiten([], [], std="population", eps=0) == []


def test_a_sample_counts_as_often_as_it_has_tokens() -> None:
    (found,) = reinforce_plus_plus([[1, 0]], [[1, 3]], eps=0)
    assert found.advantages == pytest.approx((math.sqrt(3), -1 / math.sqrt(3)))


def test_the_batch_is_the_baseline_not_the_group() -> None:
    good, bad = reinforce_plus_plus([[1, 1], [0, 0]], [[2, 2], [2, 2]], eps=0)
    assert good.advantages == pytest.approx((1, 1))
    assert bad.advantages == pytest.approx((-1, -1))
    # The variant takes the group's mean off first: nothing is left of these.
    for group in reinforce_plus_plus([[1, 1], [0, 0]], [[2, 2], [2, 2]], baseline=True):
        assert group.advantages == (0, 0)


def test_a_failed_judgment_is_in_no_moment_of_the_batch() -> None:
    found = reinforce_plus_plus([[1, None], [0, 0]], [[2, 50], [1, 1]], eps=0)
    assert found[0].advantages == (pytest.approx(1), None)
    assert found[0].reasons == (None, LeftOut.JUDGMENT_FAILED)
    assert found[1].advantages == pytest.approx((-1, -1))
    compared = reinforce_plus_plus([[1, None], [0, 2]], [[2, 50], [1, 1]], baseline=True, eps=0)
    assert compared[0].advantages == (None, None)
    assert compared[0].reasons == (LeftOut.TOO_FEW_VALID, LeftOut.JUDGMENT_FAILED)
    assert compared[1].advantages == pytest.approx((-1, 1))


def test_returns_by_hand() -> None:
    assert returns_to_go(1.0, [0.1, 0.2, 0.3], kl_coef=0.5) == pytest.approx([0.7, 0.75, 0.85])
    assert returns_to_go(1.0, [0.0, 0.2], kl_coef=0.5, gamma=0.5) == pytest.approx([0.45, 0.9])
    assert returns_to_go(1.0, [], kl_coef=0.5) == []


def test_the_kl_of_a_sample_is_taken_off_its_reward() -> None:
    found = kl_penalised([1.0, None, LeftOut.TRUNCATED], [[0.1, 0.3], [9.0], [9.0]], 0.5)
    assert found == [pytest.approx(0.8), None, LeftOut.TRUNCATED]


def test_tokens_by_hand() -> None:
    # Returns: 1 - 0.5 * (0.2, 0.0) from each token on, and 0: (0.9, 1) and (0).
    groups, tokens = reinforce_plus_plus_tokens(
        [[1.0, None], [0.0]], [[[0.2, 0.0], [9.0]], [[0.0]]], kl_coef=0.5, eps=0
    )
    mean = (0.9 + 1 + 0) / 3
    std = math.sqrt(((0.9 - mean) ** 2 + (1 - mean) ** 2 + mean**2) / 3)
    assert tokens[0] == (pytest.approx(((0.9 - mean) / std, (1 - mean) / std)), None)
    assert tokens[1] == (pytest.approx((-mean / std,)),)
    assert groups[0].reasons == (None, LeftOut.JUDGMENT_FAILED)


@given(
    batch=st.lists(
        st.lists(st.tuples(st.none() | st.floats(-5, 5), st.integers(1, 4)), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    baseline=st.booleans(),
)
def test_without_kl_every_token_has_the_advantage_of_its_sample(batch, baseline) -> None:
    rewards = [[reward for reward, _ in group] for group in batch]
    lengths = [[length for _, length in group] for group in batch]
    kl = [[[0.7] * length for length in group] for group in lengths]
    samples = reinforce_plus_plus(rewards, lengths, baseline=baseline)
    groups, tokens = reinforce_plus_plus_tokens(rewards, kl, kl_coef=0.0, baseline=baseline)
    for one, other, by_token, own in zip(samples, groups, tokens, lengths, strict=True):
        assert one.reasons == other.reasons
        for advantage, values, length in zip(one.advantages, by_token, own, strict=True):
            assert values == (None if advantage is None else pytest.approx((advantage,) * length, abs=1e-6))
