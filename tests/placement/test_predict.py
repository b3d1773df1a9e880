"""A step worked out by hand from measured rates, and speeds by the table against a machine that was measured."""

from __future__ import annotations

from typing import Any

import pytest

from assay.placement import (
    CARDS,
    EngineRate,
    JudgeLoad,
    Prediction,
    Rates,
    Training,
    Workload,
    make_job,
    parse_cluster,
    plan,
    read_shape,
)
from assay.placement.simulate import Stage, simulate
from assay.placement.speed import assumed_engine

from . import configs, scripts
from .scripts import flags

# 32 samples of 100 + 100 tokens; a decoding step of either engine takes 10 ms whatever its load; prompts cost nothing.
WORK = Workload(
    prompts=8,
    samples=4,
    prompt_tokens=100,
    response_tokens=100,
    spread=0,
    judge=JudgeLoad(prompt_tokens=100, response_tokens=10),
)
ENGINE = EngineRate(tokens_per_s=((8, 800),), prefill_tokens_per_s=1e12)
RATES = Rates(
    rollout=ENGINE,
    judge=ENGINE,
    train_tokens_per_s=100,
    forward_tokens_per_s=400,
    sleep_s=0.5,
    wake_s=0.7,
    sync_s=0.3,
    actor_wake_s=0.2,
    actor_sleep_s=0.1,
)


def predicted(given: dict[str, Any], cluster: str = "1x8xH200", training: Training | None = None) -> Prediction:
    wanted = flags(given)
    shape = read_shape(configs.SMOLLM2_135M, "any")
    judges = dict.fromkeys(wanted.specs(), shape)
    job = make_job(wanted, shape, judges, workload=WORK, rates=RATES, training=training)
    made = plan(wanted, parse_cluster(cluster), job, compare=False)
    assert made.prediction is not None
    return made.prediction


def test_a_split_step_by_hand() -> None:
    """Rollout 100 x 10 ms; the judge 10 x 10 ms after it; 6400 tokens over 8 GPUs at 400 and 100 a second."""
    found = predicted(scripts.COLOCATED)
    assert found.phases == {
        "rollout": pytest.approx(1.0),
        "judging after the rollout": pytest.approx(0.1),
        "sleep": 0.5,
        "actor wakes": 0.2,
        "log-probs": pytest.approx(2.0),
        "train": pytest.approx(8.0),
        "actor sleeps": 0.1,
        "weights to the rollout": 0.3,
        "wake": 0.7,
    }
    assert found.seconds == pytest.approx(12.9)
    assert found.idle[0] == pytest.approx(1 - 11.0 / 12.9)
    assert found.idle[4] == pytest.approx(1 - 10.1 / 12.9)


def test_a_deferred_step_by_hand() -> None:
    """Rollout, swap (asleep 0.5, awake 0.7), judging, asleep, training as before; the judge sleeps on."""
    given = scripts.CO_RESIDENT | {"rm_type": "dummy", "defer_reward_to_post_process": True}
    found = predicted(given)
    assert found.seconds == pytest.approx(1.0 + 1.2 + 0.1 + 0.5 + 0.2 + 10.0 + 0.1 + 0.3)
    assert found.idle == (pytest.approx(1 - 11.1 / 13.4),) * 8


def test_a_reference_reads_as_the_actor_does() -> None:
    found = predicted(scripts.COLOCATED, training=Training(reference=True, old_logprobs=False))
    assert found.phases["log-probs"] == pytest.approx(2.0)
    found = predicted(scripts.COLOCATED, training=Training(reference=True))
    assert found.phases["log-probs"] == pytest.approx(4.0)


ASYNC: dict[str, Any] = {
    "genrm_model_path": "judge",
    "resource": {"actor": [1, 4], "rollout": [1, 2], "genrm": [1, 2]},
    "fully_async": True,
}


def test_the_slowest_pool_sets_the_asynchronous_pace() -> None:
    """Training 6400 / 4 / 100 + log-probs 6400 / 4 / 400 = 20 s; the rollout needs 1 s and waits."""
    found = predicted(ASYNC)
    assert found.seconds == pytest.approx(20.0)
    assert found.phases["rollout and judging"] == pytest.approx(1.0)
    assert found.idle == (pytest.approx(0.0),) * 4 + (pytest.approx(0.95),) * 2 + (pytest.approx(0.995),) * 2


def test_without_staleness_the_pools_wait_for_each_other() -> None:
    """Rollout 1.0, the last judgment 0.1, weights 0.3, training 20."""
    assert predicted(ASYNC | {"max_staleness": 0}).seconds == pytest.approx(21.4)


def test_engines_at_their_limit_go_by_waves() -> None:
    """Eight samples an engine, four at a time: twice as long."""
    wanted = flags(scripts.COLOCATED)
    shape = read_shape(configs.SMOLLM2_135M, "any")
    rates = RATES.model_copy(update={"max_running": 4})
    job = make_job(wanted, shape, {"__default__": shape}, workload=WORK, rates=rates)
    made = plan(wanted, parse_cluster("1x8xH200"), job, compare=False)
    assert made.prediction is not None
    assert made.prediction.phases["rollout"] == pytest.approx(2.0)


@pytest.mark.parametrize(("running", "requests", "measured"), [(1, 32, 5.6), (64, 512, 113), (256, 2048, 147)])
def test_the_table_is_near_a_measured_h200(running: int, requests: int, measured: float) -> None:
    """A 7.35 B model on SGLang 0.5.17: 192 own prompt tokens beside 768 shared ones, 32 new ones; requests a second."""
    shape = read_shape(
        configs.QWEN3_4B
        | {"hidden_size": 4096, "intermediate_size": 12288, "vocab_size": 49152, "tie_word_embeddings": False},
        "judge",
    )
    assert shape.parameters == pytest.approx(7.35e9, rel=0.001)
    speed = assumed_engine(shape, CARDS["H200"], 1, 976, running)
    run = simulate([Stage(name="judge", engines=((0,),), speed=speed, work=((192.0, 32),) * requests)], follow=True)
    assert requests / run.end == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize(("running", "requests", "measured"), [(1, 32, 8.2), (64, 512, 189), (256, 2048, 395)])
def test_the_table_is_rough_where_the_host_bounds(running: int, requests: int, measured: float) -> None:
    """The same with a 0.49 B model; another run of the measurement had 170 and 301."""
    small = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16}
    shape = read_shape(configs.QWEN3_4B | small | {"vocab_size": 49152}, "judge")
    speed = assumed_engine(shape, CARDS["H200"], 1, 976, running)
    run = simulate([Stage(name="judge", engines=((0,),), speed=speed, work=((192.0, 32),) * requests)], follow=True)
    assert requests / run.end == pytest.approx(measured, rel=0.4)


def test_two_measured_points_make_a_line() -> None:
    """10 ms at one request, 20 ms at 11: 9 ms and 1 ms for each."""
    rate = EngineRate(tokens_per_s=((1, 100), (11, 550)), prefill_tokens_per_s=1e12)
    wanted = flags(scripts.COLOCATED)
    shape = read_shape(configs.SMOLLM2_135M, "any")
    rates = RATES.model_copy(update={"rollout": rate})
    job = make_job(wanted, shape, {"__default__": shape}, workload=WORK, rates=rates)
    made = plan(wanted, parse_cluster("1x8xH200"), job, compare=False)
    assert made.prediction is not None
    assert made.prediction.phases["rollout"] == pytest.approx(100 * 0.017)


def test_the_table_is_near_two_measured_cores() -> None:
    """SmolLM2-135M in fp32 on transformers: 9.5 tokens a second alone, 115 for 32 at a time, prompts at 254 to 425."""
    shape = read_shape(configs.SMOLLM2_135M | {"torch_dtype": "float32"}, "policy")
    speed = assumed_engine(shape, CARDS["CPU"], 1, 232, 32)
    assert 1 / speed.step(1) == pytest.approx(9.5, rel=0.25)
    assert 32 / speed.step(32) == pytest.approx(115, rel=0.25)
    assert 254 < 1 / speed.prefill < 425
