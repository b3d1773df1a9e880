from __future__ import annotations

import logging

import pytest
from pydantic import ValidationError

from assay.core.config import explain
from assay.core.types import DEFAULT_SAMPLING, SamplingParams
from assay.wire.genrm import DEFAULT_KEY, GenRMConfig

DEFAULTS = SamplingParams(temperature=0.1, top_p=1.0, top_k=-1, max_new_tokens=4096)


def refused(**flags: object) -> str:
    with pytest.raises(ValidationError) as caught:
        GenRMConfig.model_validate(flags)
    return explain(caught.value)


def test_no_model_is_no_instance() -> None:
    assert GenRMConfig().specs() == {}


def test_a_model_path_is_the_default_instance_with_the_seeds_defaults() -> None:
    specs = GenRMConfig(genrm_model_path="/models/judge").specs()
    assert list(specs) == [DEFAULT_KEY] == ["__default__"]
    spec = specs[DEFAULT_KEY]
    assert (spec.model_path, spec.num_gpus, spec.num_gpus_per_engine) == ("/models/judge", 1, 1)
    assert (spec.engine.max_context_len, spec.engine.dp_size, spec.engine.pp_size, spec.engine.ep_size) == (
        8192,
        1,
        1,
        1,
    )
    assert spec.engine.mem_fraction_static is None
    assert spec.sampling.over(DEFAULT_SAMPLING) == DEFAULTS


def test_configuration_as_the_seeds_write_it() -> None:
    spec = GenRMConfig.model_validate(
        {
            "genrm_model_path": "m",
            "genrm_engine_config": {"max_context_len": 10240, "mem_fraction_static": 0.3, "attention_backend": "fa3"},
            "genrm_sampling_config": {"max_response_len": 32, "chat_template_kwargs": {"enable_thinking": False}},
        }
    ).specs()[DEFAULT_KEY]
    assert spec.engine.max_context_len == 10240
    assert spec.engine.passed_through == {"attention_backend": "fa3"}
    assert spec.sampling.over(DEFAULT_SAMPLING) == SamplingParams(
        temperature=0.1, top_p=1.0, top_k=-1, max_new_tokens=32, chat_template_kwargs={"enable_thinking": False}
    )


def test_an_absent_configuration_is_the_global_one_and_a_present_one_takes_the_defaults() -> None:
    specs = GenRMConfig.model_validate(
        {
            "genrm_num_gpus_per_engine": 2,
            "genrm_engine_config": {"max_context_len": 4096, "mem_fraction_static": 0.4},
            "genrm_sampling_config": {"temperature": 0.7, "max_response_len": 64},
            "genrm_instances": {
                "quality": {"model_path": "q", "num_gpus": 2},
                "safety": {
                    "model_path": "s",
                    "num_gpus": 1,
                    "num_gpus_per_engine": 1,
                    "engine_config": {"dp_size": 1},
                    "sampling_config": {"max_response_len": 32},
                },
            },
        }
    ).specs()
    assert list(specs) == ["quality", "safety"]
    quality, safety = specs.values()
    assert (quality.engine.max_context_len, quality.engine.mem_fraction_static) == (4096, 0.4)
    assert (quality.sampling.temperature, quality.sampling.max_new_tokens) == (0.7, 64)
    assert quality.num_gpus_per_engine == 2
    assert (safety.engine.max_context_len, safety.engine.mem_fraction_static) == (8192, None)
    assert (safety.sampling.temperature, safety.sampling.max_new_tokens) == (None, 32)


def test_instances_win_over_the_model_path_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config = GenRMConfig.model_validate(
            {"genrm_model_path": "old", "genrm_instances": {"a": {"model_path": "new", "num_gpus": 1}}}
        )
    assert list(config.specs()) == ["a"]
    (record,) = caplog.records
    assert "genrm_model_path='old' is ignored" in record.message


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        ({"model_path": "m"}, "missing required key 'num_gpus'"),
        ({"num_gpus": 1}, "missing required key 'model_path'"),
        ({"model_path": "m", "num_gpus": 3, "num_gpus_per_engine": 2}, "num_gpus=3 does not divide by"),
        ({"model_path": "m", "num_gpus": 1, "gpus": 2}, "gpus: there is no such option"),
        ({"model_path": "m", "num_gpus": 1, "sampling_config": {"temperatur": 1}}, "temperatur"),
        ({"model_path": "m", "num_gpus": 1, "engine_config": {"mem_fraction_static": 1.5}}, "mem_fraction_static"),
    ],
)
def test_a_wrong_instance_is_refused_by_name(instance: dict[str, object], message: str) -> None:
    assert message in refused(genrm_instances={"quality": instance})


def test_reserved_and_empty_keys_are_refused() -> None:
    instance = {"model_path": "m", "num_gpus": 1}
    assert "'__default__' cannot be a route key" in refused(genrm_instances={"__default__": instance})
    assert "cannot be a route key" in refused(genrm_instances={"": instance})
    assert "no instance in it" in refused(genrm_instances={})
