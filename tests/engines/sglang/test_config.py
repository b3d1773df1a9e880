import pytest
from pydantic import ValidationError

from assay.engines.sglang.config import SGLangConfig


@pytest.mark.parametrize(
    ("sizes", "tp"),
    [
        ({"num_gpus": 8}, 8),
        ({"num_gpus": 8, "pp_size": 2}, 4),
        ({"num_gpus": 8, "dp_size": 4}, 2),
        ({"num_gpus": 8, "dp_size": 8, "enable_dp_attention": True}, 8),
        ({"num_gpus": 8, "tp_size": 4, "pp_size": 2}, 4),
        ({"num_gpus": 8, "ep_size": 4}, 8),
        ({"num_gpus": 16, "nnodes": 2, "dist_init_addr": "a:1"}, 16),
    ],
)
def test_tensor_parallelism_is_what_the_other_sizes_leave(sizes: dict[str, object], tp: int) -> None:
    config = SGLangConfig.model_validate({"model": "m", **sizes})
    assert config.tensor_parallel() == tp


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_gpus": 4, "tp_size": 4, "pp_size": 2}, "tp_size=4 x pp_size=2 x dp_size=1 is 8, and num_gpus=4"),
        ({"num_gpus": 2, "pp_size": 4}, "num_gpus=2"),
        ({"num_gpus": 6, "ep_size": 4}, "tp_size=6 does not divide by ep_size=4"),
        ({"num_gpus": 3, "nnodes": 2, "dist_init_addr": "a:1"}, "does not divide by nnodes"),
        ({"num_gpus": 2, "nnodes": 2}, "dist_init_addr"),
        ({"num_gpus": 2, "gpu_ids": [0]}, "gpu_ids names 1"),
        ({"num_gpus": 2, "gpu_ids": [0, "0"]}, "twice"),
        ({"node_rank": 1}, "node_rank=1"),
        ({"regex": "1|0", "json_schema": {}}, "give one"),
        ({"memory_saver": False, "weights_cpu_backup": True}, "needs memory_saver"),
        ({"mem_fraction_static": 1.0}, "less than 1"),
        ({"max_running_requests": 4, "arguments": {"max_running_requests": 5}}, "given twice"),
    ],
)
def test_what_cannot_work_is_refused_at_load(options: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        SGLangConfig.model_validate({"model": "m", **options})


def test_options_that_are_not_ours_are_arguments_of_sglang() -> None:
    config = SGLangConfig.model_validate({"model": "m", "max_running_requests": 4, "arguments": {"a": 1}})
    assert config.arguments == {"a": 1, "max_running_requests": 4}
    assert SGLangConfig.model_validate(config.model_dump()) == config


def test_without_a_memory_saver_there_is_no_backup() -> None:
    assert SGLangConfig(model="m").backed_up
    assert not SGLangConfig(model="m", memory_saver=False).backed_up
    assert not SGLangConfig(model="m", weights_cpu_backup=False).backed_up
