from __future__ import annotations

from typing import Any

from assay.placement import (
    JudgeLoad,
    Mode,
    PlacementPlan,
    Workload,
    dump_plan,
    load_plan,
    make_job,
    parse_cluster,
    plan,
    read_shape,
)

from . import configs, scripts
from .scripts import flags


def advised(given: dict[str, Any], work: Workload, cluster: str = "1x8xH200") -> PlacementPlan:
    wanted = flags(given)
    judge = read_shape(configs.QWEN3_30B_A3B, "judge")
    job = make_job(wanted, read_shape(configs.QWEN3_4B, "policy"), dict.fromkeys(wanted.specs(), judge), workload=work)
    return plan(wanted, parse_cluster(cluster), job)


def seconds(found: PlacementPlan, mode: Mode) -> float:
    assert found.advice is not None
    (one,) = [o.seconds for o in found.advice.options if o.mode == mode and o.layout != "as given"]
    assert one is not None
    return one


def test_a_long_tail_and_a_light_judge_favour_splitting_over_deferring() -> None:
    """Judging hides in the tail; a swap would come on top."""
    work = Workload(response_tokens=1024, spread=1.0, judge=JudgeLoad(response_tokens=16))
    found = advised(scripts.COLOCATED | {"genrm_num_gpus_per_engine": 1}, work)
    assert seconds(found, Mode.SPLIT) < seconds(found, Mode.DEFER_SWAP)


def test_short_responses_and_a_heavy_judge_favour_deferring_over_splitting() -> None:
    """There is no tail to hide in, and the judge needs every GPU."""
    work = Workload(
        prompts=64, response_tokens=512, spread=0, judge=JudgeLoad(prompt_tokens=4096, response_tokens=2048)
    )
    found = advised(scripts.COLOCATED | {"genrm_num_gpus_per_engine": 1}, work)
    assert seconds(found, Mode.DEFER_SWAP) < seconds(found, Mode.SPLIT)


def test_the_options_are_the_best_of_each_mode_in_order_after_the_given_one() -> None:
    found = advised(scripts.COLOCATED, Workload())
    assert found.advice is not None
    assert found.prediction is not None
    given, *others = found.advice.options
    assert (given.mode, given.layout, given.seconds) == ("split", "as given", found.prediction.seconds)
    assert {option.mode for option in others} == set(Mode)
    times = [option.seconds for option in others if option.seconds is not None]
    assert times == sorted(times)
    assert found.advice.verdict


def test_several_judges_keep_their_proportions() -> None:
    found = advised(scripts.DUAL, Workload())
    assert found.advice is not None
    layouts = {option.mode: option.layout for option in found.advice.options[1:]}
    assert layouts["split"] == "rollout 4, judges 4"
    assert layouts["defer-swap"] == "all 8, one after the other"


def test_without_a_judge_there_is_nothing_to_split() -> None:
    given: dict[str, Any] = {"resource": {"actor": [1, 2], "rollout": [1, 2]}, "colocate": True, "rm_type": "math"}
    found = advised(given, Workload(), "1x2xH200")
    assert found.advice is not None
    assert "judging after the rollout" not in (found.prediction.phases if found.prediction else {})


def test_a_whole_forecast_goes_to_disk_and_comes_back_equal() -> None:
    found = advised(scripts.DUAL, Workload())
    assert load_plan(dump_plan(found)) == found
