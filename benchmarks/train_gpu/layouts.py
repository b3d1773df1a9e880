"""The layouts that the benchmark runs, as flags of ``assay train``, and the task: sums of two numbers below 60."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

PROMPTS, SAMPLES = 32, 8
ARGUMENTS = {"sampling_backend": "pytorch", "disable_prefill_cuda_graph": True, "cuda_graph_max_bs_decode": 256}
SERVER = {"arguments": ARGUMENTS, "start_timeout_s": 240}

JUDGED = {
    "right": {"rm_type": "math", "weight": 1.0},
    "judge": {"judge": "tokenprob", "judge_options": {"min_mass": 0.0}, "weight": 1e-4, "required": False},
}
"""The rule rewards; a judge model is asked about every sample too, and hardly counts, so that layouts compare."""

LAYOUTS: dict[str, dict[str, Any]] = {
    "beside": {"rm_type": "math"},
    "co-resident": {"cluster": "1x1xH200", "colocate": True, "resource": {"actor": 1, "rollout": 1, "genrm": 1}},
    "defer-swap": {
        "cluster": "1x1xH200",
        "colocate": True,
        "resource": {"actor": 1, "rollout": 1, "genrm": 1},
        "defer_reward_to_post_process": True,
        "rm_type": "dummy",
    },
    "fully-async": {
        "cluster": "1x2xH200",
        "fully_async": True,
        "resource": {"actor": 1, "rollout": 1},
        "rm_type": "math",
    },
    "split": {
        "cluster": "1x2xH200",
        "colocate": True,
        "resource": {"actor": 2, "rollout": 1, "genrm": 1},
        "ray": True,
        # Of each stage of the start, so that one that hangs says so while the card is there.
        "start_timeout_s": 120,
    },
}


def sums(path: Path, count: int = 2000) -> Path:
    """Write the prompts."""
    draw = random.Random(0)
    with path.open("w") as file:
        for _ in range(count):
            a, b = draw.randrange(2, 60), draw.randrange(2, 60)
            text = f"What is {a} + {b}? Reply with the number alone."
            file.write(json.dumps({"prompt": text, "label": str(a + b)}) + "\n")
    return path


def flags(layout: str, data: Path, run: Path, *, judge: str, steps: int, sync: str | None) -> dict[str, Any]:
    """All settings of a run, by their names in a recipe."""
    own = dict(LAYOUTS[layout])
    resource = own.pop("resource", None)
    if resource is not None:
        own["resource"] = {role: [1, gpus] for role, gpus in resource.items()}
    shared = {
        "prompt_data": str(data),
        "apply_chat_template": True,
        "run_dir": str(run),
        "rollout_engine": "sglang",
        "rollout_engine_options": SERVER,
        "sglang_mem_fraction_static": 0.25,
        "num_rollout": steps,
        "rollout_batch_size": PROMPTS,
        "n_samples_per_prompt": SAMPLES,
        "rollout_max_response_len": 16,
        "lr": 1e-5,
        "tracker": "none",
        "max_dead_steps": 0,
    }
    judges = {
        "genrm_model_path": judge,
        "genrm_engine": "sglang",
        "genrm_engine_options": SERVER,
        "genrm_engine_config": {"mem_fraction_static": 0.25, "max_context_len": 4096},
        "reward_parts": JUDGED,
    }
    judged = resource is not None and "genrm" in resource
    return {**shared, **(judges if judged else {}), **own, **({"weight_sync": sync} if sync else {})}
