"""What is done to rewards before they are compared: length, truncation, dead groups; and the record of a batch."""

import math

import pytest

from assay.core.errors import InputError
from assay.rl.advantages.dead import Fate, fate
from assay.rl.advantages.estimators import ESTIMATORS, AdvantageConfig, estimate
from assay.rl.advantages.group import LeftOut
from assay.rl.advantages.grpo import grpo
from assay.rl.advantages.overlong import OverlongShaping
from assay.rl.advantages.summary import summarise
from assay.rl.advantages.truncated import parse_truncated_as, settle_truncated


@pytest.mark.parametrize(("length", "penalty"), [(0, 0), (80, 0), (81, -0.1), (90, -1.0), (100, -2), (1000, -2)])
def test_the_soft_punishment_by_hand(length, penalty) -> None:
    assert OverlongShaping(max_length=100, buffer=20, factor=2.0).penalty(length) == pytest.approx(penalty)


def test_shaping_adds_to_rewards_and_makes_none_up() -> None:
    shaping = OverlongShaping(max_length=100, buffer=20)
    assert shaping.shaped([1.0, None, LeftOut.TRUNCATED], [90, 100, 100]) == [0.5, None, LeftOut.TRUNCATED]


@pytest.mark.parametrize("values", [{"buffer": 0}, {"buffer": 101}, {"buffer": 5, "factor": -1.0}])
def test_limits_that_cannot_be_meant_are_refused(values) -> None:
    with pytest.raises(InputError, match="overlong"):
        OverlongShaping(max_length=100, **values)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("keep", [1.0, 0.5, None]),
        ("mask", [1.0, LeftOut.TRUNCATED, LeftOut.TRUNCATED]),
        ("-1", [1.0, -1.0, -1.0]),
    ],
)
def test_truncated_answers_are_treated_as_said(text, wanted) -> None:
    treat = parse_truncated_as(text)
    assert settle_truncated([1.0, 0.5, None], [False, True, True], treat) == wanted


@pytest.mark.parametrize("text", ["", "zero", "nan", "inf"])
def test_another_treatment_is_refused(text) -> None:
    with pytest.raises(InputError, match="keep, mask"):
        parse_truncated_as(text)


def test_a_masked_truncated_answer_says_so_in_its_group() -> None:
    found = grpo([1.0, LeftOut.TRUNCATED, 0.0, None])
    assert found.reasons == (None, LeftOut.TRUNCATED, None, LeftOut.JUDGMENT_FAILED)
    assert found.advantages[::2] == pytest.approx((1, -1), abs=1e-5)


@pytest.mark.parametrize(
    ("rewards", "wanted"),
    [
        ([1, 0], Fate.LIVE),
        ([0.5, 0.5], Fate.DEAD),
        ([0.5, None, 0.5], Fate.DEAD),
        ([0.5, None], Fate.LEFT_OUT),
        # Of equal mean to a group of 0.5s, which a filter by mean would take for it.
        ([0.9, 0.1], Fate.LIVE),
    ],
)
def test_the_fate_of_a_group(rewards, wanted) -> None:
    assert fate(rewards) is wanted


def test_the_record_of_a_batch() -> None:
    groups = [grpo([1, 0, None]), grpo([1, 1]), grpo([None, 1, LeftOut.TRUNCATED])]
    found = summarise(groups)
    assert (found.samples, found.trained, found.groups, found.groups_dead, found.groups_left_out) == (8, 4, 3, 1, 1)
    assert found.left_out == {LeftOut.JUDGMENT_FAILED: 2, LeftOut.TRUNCATED: 1, LeftOut.TOO_FEW_VALID: 1}
    means = found.means()
    assert means["reward_mean"] == pytest.approx(4 / 5)
    assert means["left_out_judgment_failed"] == pytest.approx(2 / 8)
    assert "reward_mean" not in summarise([grpo([None, None])]).means()
    assert summarise([]).means() == {}


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_estimator_by_its_name(name) -> None:
    found = estimate([[1, 0, None], [0, 1]], [[3, 3, 3], [3, 3]], AdvantageConfig(estimator=name))
    assert [len(group.advantages) for group in found] == [3, 2]
    first, second, failed = found[0].advantages
    assert failed is None
    assert first is not None
    assert second is not None
    assert first > second


def test_the_options_reach_the_estimator() -> None:
    config = AdvantageConfig(std="sample", eps=0.0)
    (found,) = estimate([[1, 0, 0, 0]], [[1] * 4], config)
    assert found.advantages == pytest.approx((1.5, -0.5, -0.5, -0.5))


@pytest.mark.parametrize(
    ("values", "named"),
    [({"estimator": "ppo"}, "grpo, gspo"), ({"std": "x"}, "population"), ({"eps": math.nan}, "eps")],
)
def test_a_config_that_cannot_be_meant_is_refused(values, named) -> None:
    with pytest.raises(InputError, match=named):
        AdvantageConfig(**values)


def test_a_reward_too_few_is_refused() -> None:
    with pytest.raises(InputError, match="group 1 has 1 rewards for 2 samples"):
        estimate([[1, 0], [1]], [[1, 1], [1, 1]], AdvantageConfig())
