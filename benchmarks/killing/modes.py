"""The runs that are killed: a policy of a third of a million weights that sorts digits, in every mode of training."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

from assay.rl.demo import HELD_FILE, POLICY, TRAIN_FILE, DemoTraining, warm_policy, write_task
from assay.training.small import save_small

MODES = ("now", "split", "co-resident", "defer-swap", "fully-async", "ray-co-resident", "ray-fully-async")
"""``now``: no layout, everything in one process, rewards by the rule ``math`` in processes of its own. The others have
a judge model of their own; those of Ray have two ranks of the trainer."""
ASYNC = ("fully-async", "ray-fully-async")
STALENESS = 2
STEPS, INTERVAL = 6, 2
"""Steps of a run, and how many from one checkpoint to the next."""
PROMPTS, SAMPLES = 4, 4
HELD = 24
"""Questions of an evaluation."""

_SHARED = {"mem_fraction_static": 0.3}


def write_models(folder: Path) -> None:
    """Task, policy and judge."""
    write_task(folder)
    held = folder / HELD_FILE
    held.write_text("".join(held.read_text().splitlines(keepends=True)[:HELD]))
    # Warm enough that some answers are right, and some are not: otherwise no step would train.
    warm_policy(folder, DemoTraining())
    save_small(folder / "judge", string.printable, seed=1, hidden=32, layers=1, context=4096)


def write_recipe(mode: str, models: Path, run_dir: Path) -> Path:
    """The recipe of a run, beside its folder."""
    path = run_dir.with_suffix(".toml")
    lines = (f"{name} = {_toml(value)}" for name, value in settings(mode, models, run_dir).items())
    path.write_text("\n".join(lines) + "\n")
    return path


def settings(mode: str, models: Path, run_dir: Path) -> dict[str, Any]:
    """The flags of a run in a mode."""
    common = {
        "run_dir": str(run_dir),
        "hf_checkpoint": str(models / POLICY),
        "prompt_data": str(models / TRAIN_FILE),
        "num_rollout": STEPS,
        "save_interval": INTERVAL,
        "keep_checkpoints": 2,
        "rollout_batch_size": PROMPTS,
        "n_samples_per_prompt": SAMPLES,
        "rollout_max_response_len": 6,
        "rollout_seed": 3,
        "lr": 5e-4,
        "device": "cpu",
        "batch_invariant": True,
        "max_dead_steps": 0,
        "rollout_engine_options": {"threads": 1},
        "tracker": "none",
    }
    if mode == "now":
        held = {"eval_prompt_data": [f"held-out={models / HELD_FILE}"], "eval_interval": 3, "eval_temperature": 0.0}
        return {**common, **held, "rm_type": "math"}
    return {**common, **_judged(models), **_layout(mode.removeprefix("ray-"), ranks=2), "ray": mode.startswith("ray-")}


def _judged(models: Path) -> dict[str, Any]:
    return {
        "judge": "tokenprob",
        "judge_options": {"min_mass": 0.0},
        "genrm_model_path": str(models / "judge"),
        "genrm_engine_options": {"threads": 1, "batch_invariant": True},
        "cluster": "1x8xCPU",
    }


def _layout(mode: str, ranks: int) -> dict[str, Any]:
    """Who shares how many GPUs, all of them simulated."""
    match mode:
        case "split":
            return {"colocate": True, "resource": {"actor": [1, ranks], "rollout": [1, 1], "genrm": [1, 1]}}
        case "co-resident" | "defer-swap":
            shared = {"colocate": True, "resource": {role: [1, ranks] for role in ("actor", "rollout", "genrm")}}
            shared |= {"rollout_num_gpus_per_engine": ranks, "genrm_num_gpus_per_engine": ranks}
            if mode == "defer-swap":
                return {**shared, "rm_type": "dummy", "defer_reward_to_post_process": True}
            return {**shared, "sglang_mem_fraction_static": 0.6, "genrm_engine_config": _SHARED}
        case _:
            own = {"actor": [1, ranks], "rollout": [1, 1], "genrm": [1, 1], "reference": [1, 1], "actor_fwd": [1, 1]}
            return {"fully_async": True, "max_staleness": STALENESS, "resource": own}


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(own)}" for name, own in value.items()) + "}"
    return json.dumps(value)
