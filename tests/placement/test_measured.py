"""A run's metrics as rates: the planner gives the seconds of the run back."""

from __future__ import annotations

import pytest

from assay.core.errors import InputError
from assay.placement import JudgeLoad, Workload, make_job, parse_cluster, plan, read_shape
from assay.placement.measured import measured_rates, measured_workload

from . import configs
from .scripts import flags

WORK = Workload(prompts=4, samples=8, prompt_tokens=20, judge=JudgeLoad(prompt_tokens=100, response_tokens=1))
STEP = {
    "time/step": 4.0,
    "time/generate": 1.6,
    "time/train": 1.0,
    "time/save": 7.0,
    "time/publish": 0.3,
    "time/sleep/rollout": 0.1,
    "time/sleep/__default__": 0.25,
    "time/wake/rollout": 0.4,
    "time/wake/actor": 0.05,
    "rollout/response_length": 10.0,
}
RUN = [{**STEP, "time/generate": 60.0}, STEP, STEP]


def test_rates_are_the_medians_of_the_steady_steps() -> None:
    rates = measured_rates(RUN, WORK)
    assert rates.rollout is not None
    assert rates.rollout.tokens_per_s == ((32, 32 * 10 / 1.6),)
    assert rates.train_tokens_per_s == pytest.approx(32 * (20 + 10) / 1.0)
    assert (rates.sync_s, rates.sleep_s, rates.wake_s) == (0.3, 0.25, 0.4)
    assert (rates.actor_wake_s, rates.actor_sleep_s) == (0.05, None)


def test_judging_in_a_phase_of_its_own_is_the_judges_speed() -> None:
    rates = measured_rates([{**STEP, "time/judge": 0.5}], WORK, judges=["__default__"])
    assert rates.judges["__default__"].tokens_per_s == ((32, 64.0),)


def test_a_rollout_with_judges_in_it_does_not_replace_a_rate_that_is_known() -> None:
    alone = measured_rates(RUN, WORK)
    both = measured_rates([{**STEP, "time/generate": 9.0}], WORK, judges=["__default__"], known=alone)
    assert both.rollout == alone.rollout
    assert measured_rates([STEP], WORK, judges=["__default__"]).rollout is not None


def test_the_planner_gives_the_measured_phases_back() -> None:
    wanted = flags({"colocate": True, "resource": {"actor": [1, 1], "rollout": [1, 1]}, "rm_type": "math"})
    work = measured_workload(RUN, WORK)
    job = make_job(wanted, read_shape(configs.SMOLLM2_135M, "any"), {}, workload=work, rates=measured_rates(RUN, work))
    made = plan(wanted, parse_cluster("1x1xH200"), job, compare=False)
    assert made.prediction is not None
    assert made.prediction.phases["rollout"] == pytest.approx(1.6, rel=0.02)
    assert made.prediction.phases["train"] == pytest.approx(1.0)
    assert made.prediction.phases["weights to the rollout"] == pytest.approx(0.3)


def test_a_run_without_steps_has_nothing_to_measure() -> None:
    with pytest.raises(InputError, match="nothing to measure"):
        measured_rates([{"eval/pass": 1.0}], WORK)
