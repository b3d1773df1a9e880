from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.placement import read_shape

from . import configs


@pytest.mark.parametrize(
    ("config", "parameters"),
    [  # as counted by transformers, and printed on the models' pages
        (configs.SMOLLM2_135M, 134_515_008),
        (configs.QWEN25_05B, 494_032_768),
        (configs.QWEN3_4B, 4_022_468_096),
        (configs.LLAMA31_8B, 8_030_261_248),
        (configs.QWEN3_30B_A3B, 30_532_122_624),
        (configs.MIXTRAL_8X7B, 46_702_792_704),
    ],
)
def test_parameters_are_those_of_the_published_models(config: dict[str, Any], parameters: int) -> None:
    assert read_shape(config, "policy").parameters == parameters


def test_a_token_meets_few_of_the_experts() -> None:
    """Qwen3-30B-A3B: 3.3 B active with the embedding's table, which is looked up and not multiplied: 3.0 B."""
    shape = read_shape(configs.QWEN3_30B_A3B, "judge")
    assert shape.active + shape.vocab * shape.hidden == pytest.approx(3.35e9, rel=0.01)


def test_cache_of_a_token() -> None:
    """Qwen3-4B: keys and values of 36 layers x 8 heads x 128, two bytes each."""
    shape = read_shape(configs.QWEN3_4B, "policy")
    assert shape.cache_bytes() == 2 * 36 * 8 * 128 * 2 == 147_456
    assert shape.cache_bytes(4) == 36_864
    assert shape.cache_bytes(16) == 18_432, "a head is not cut"


def test_what_a_configuration_says_itself_wins() -> None:
    shape = read_shape(configs.QWEN3_4B | {"num_parameters": 10, "num_active_parameters": 5}, "policy")
    assert (shape.parameters, shape.active) == (10, 5)


def test_the_language_model_of_a_multimodal_one() -> None:
    shape = read_shape({"model_type": "qwen3_vl", "text_config": configs.QWEN3_4B}, "policy")
    assert shape.parameters == 4_022_468_096


def test_bytes_of_a_weight() -> None:
    assert read_shape(configs.QWEN3_4B, "policy").weight_bytes == 2
    assert read_shape(configs.QWEN3_4B | {"torch_dtype": "float32"}, "policy").weight_bytes == 4
    fp8 = configs.QWEN3_4B | {"quantization_config": {"quant_method": "fp8"}}
    assert read_shape(fp8, "policy").weight_bytes == 1


def test_linear_attention_has_no_cache() -> None:
    kinds = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 9
    assert read_shape(configs.QWEN3_4B | {"layer_types": kinds}, "policy").attention_layers == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": None}, "policy: its configuration has hidden_size=None"),
        ({"intermediate_size": None}, "names no 'intermediate_size'"),
        ({"kv_lora_rank": 512}, "add num_parameters"),
    ],
)
def test_what_cannot_be_counted(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_shape(configs.QWEN3_4B | change, "policy")
