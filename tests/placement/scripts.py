"""The run scripts of the seeds as flags: written out here, and cut out of the published page where it is at hand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from assay.placement import PlacementFlags

PAGE = next(iter(sorted((Path(__file__).parents[2] / "../shared/seeds").glob("000_*"))), None)
FLAGS = frozenset({"colocate", "fully_async", "defer_reward_to_post_process"})
NOT_PLACEMENT = frozenset({"reward_key"})

COLOCATED: dict[str, Any] = {
    "genrm_model_path": "Qwen3-VL-30B-A3B-Instruct",
    "genrm_num_gpus_per_engine": 4,
    "genrm_engine_config": {"max_context_len": 10240},
    "resource": {"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]},
    "colocate": True,
    "rm_type": "dapo-genrm",
}
CO_RESIDENT: dict[str, Any] = {
    "genrm_model_path": "Qwen3-VL-30B-A3B-Instruct",
    "genrm_num_gpus_per_engine": 8,
    "genrm_engine_config": {"max_context_len": 10240, "mem_fraction_static": 0.3},
    "sglang_mem_fraction_static": 0.6,
    "resource": {"actor": [1, 8], "rollout": [1, 8], "genrm": [1, 8]},
    "colocate": True,
    "rm_type": "dapo-genrm",
}
SPLIT_16: dict[str, Any] = {
    "genrm_model_path": "Qwen3.5-397B-FP8",
    "genrm_num_gpus_per_engine": 8,
    "resource": {"actor": [2, 8], "rollout": [1, 8], "genrm": [1, 8]},
    "colocate": True,
    "rm_type": "dapo-genrm",
}
DEFER_16: dict[str, Any] = {
    "genrm_model_path": "Qwen3.5-397B-FP8",
    "genrm_num_gpus_per_engine": 16,
    "genrm_engine_config": {"mem_fraction_static": 0.85},
    "sglang_mem_fraction_static": 0.85,
    "resource": {"actor": [2, 8], "rollout": [2, 8], "genrm": [2, 8]},
    "colocate": True,
    "rm_type": "dummy",
    "defer_reward_to_post_process": True,
    "custom_reward_post_process_path": "examples.generate_reward_model.post_process_genrm_swap.post_process",
}
DUAL: dict[str, Any] = {
    "genrm_instances": {
        "quality": {"model_path": "quality-judge", "num_gpus": 2, "num_gpus_per_engine": 2},
        "safety": {"model_path": "safety-judge", "num_gpus": 2, "num_gpus_per_engine": 2},
    },
    "rollout_num_gpus": 4,
    "resource": {"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]},
    "colocate": True,
}
ASYNC: dict[str, Any] = {
    "genrm_model_path": "Qwen3-VL-30B-A3B-Instruct",
    "resource": {
        "actor": [1, 2],
        "rollout": [1, 3],
        "reference": [1, 1],
        "actor_fwd": [1, 1],
        "advantages": [1, 0],
        "genrm": [1, 1],
    },
    "fully_async": True,
    "rm_type": "dapo-genrm",
}


def flags(given: dict[str, Any], **changed: Any) -> PlacementFlags:
    return PlacementFlags.model_validate({**given, **changed})


def commands(text: str) -> list[dict[str, Any]]:
    """The training commands on a page, as flags by field name."""
    found: list[dict[str, Any]] = []
    for block in re.findall(r"^python3 \S*train\.py(.*?)\n\n", text, re.MULTILINE | re.DOTALL):
        words = shlex.split(block.replace("\\\n", " "))
        given: dict[str, Any] = {}
        while words:
            name = words.pop(0).removeprefix("--").replace("-", "_")
            value: Any = True if name in FLAGS else words.pop(0)
            given[name] = json.loads(value) if isinstance(value, str) and value.startswith("{") else value
        found.append({name: value for name, value in given.items() if name not in NOT_PLACEMENT})
    return found
