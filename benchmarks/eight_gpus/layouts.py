"""The seeds' layouts for real, on four or eight cards of one machine, as flags of ``assay train``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..train_gpu.layouts import SERVER

PROMPTS, SAMPLES, LONGEST = 64, 8, 16
LAYOUTS = ("split", "co-resident", "defer-swap", "two-judges", "fully-async")
JUDGED: dict[str, Any] = {"judge": "tokenprob", "judge_options": {"min_mass": 0.0}, "weight": 1e-4, "required": False}
"""The rule rewards; judges with random weights are asked about every sample too, and hardly count."""

APART: Mapping[int, Mapping[str, int]] = {
    8: {"actor": 2, "rollout": 3, "reference": 1, "actor_fwd": 1, "genrm": 1},
    4: {"actor": 1, "rollout": 1, "reference": 1, "genrm": 1},
}
"""Fully asynchronous: cards of each role."""


def claims(layout: str, cards: int) -> dict[str, int]:
    """Cards of each role; a judge's engine spans all that it has (tensor parallel)."""
    if layout == "fully-async":
        return dict(APART[cards])
    if layout in ("split", "two-judges"):
        return {"actor": cards, "rollout": cards // 2, "genrm": cards // 2}
    return {"actor": cards, "rollout": cards, "genrm": cards}


def settings(layout: str, cards: int, *, data: Path, run: Path, policy: str, judge: str, steps: int) -> dict[str, Any]:
    """All settings of a run, by their names in a recipe."""
    own = claims(layout, cards)
    shared = layout in ("co-resident", "defer-swap")
    share = {"mem_fraction_static": 0.25} if shared else {}
    found: dict[str, Any] = {
        "hf_checkpoint": policy,
        "prompt_data": str(data),
        "apply_chat_template": True,
        "run_dir": str(run),
        "ray": True,
        "start_timeout_s": 150,
        "cluster": f"1x{cards}xH200",
        "resource": {role: [1, number] for role, number in own.items()},
        "rollout_engine": "sglang",
        "rollout_engine_options": SERVER,
        "genrm_engine": "sglang",
        "genrm_engine_options": SERVER,
        "num_rollout": steps,
        "rollout_batch_size": PROMPTS,
        "n_samples_per_prompt": SAMPLES,
        "rollout_max_response_len": LONGEST,
        "lr": 1e-5,
        "tracker": "none",
        "max_dead_steps": 0,
        **({"sglang_mem_fraction_static": 0.25} if shared else {}),
        **({"fully_async": True, "max_staleness": 1} if layout == "fully-async" else {"colocate": True}),
        **({"defer_reward_to_post_process": True, "rm_type": "dummy"} if layout == "defer-swap" else {}),
        **({"use_kl_loss": True, "kl_loss_coef": 0.001} if "reference" in own else {}),
    }
    return {**found, **_judges(layout, own["genrm"], judge, share)}


def _judges(layout: str, cards: int, judge: str, share: Mapping[str, float]) -> dict[str, Any]:
    engine = {**share, "max_context_len": 4096}
    right = {"right": {"rm_type": "math", "weight": 1.0}}
    if layout != "two-judges":
        return {
            "genrm_model_path": judge,
            "genrm_num_gpus_per_engine": cards,
            "genrm_engine_config": engine,
            "reward_parts": {**right, "judge": JUDGED},
        }
    one = {"model_path": judge, "num_gpus": cards // 2, "num_gpus_per_engine": cards // 2, "engine_config": engine}
    return {
        "genrm_instances": {"quality": one, "safety": one},
        "reward_parts": {**right, **{key: {**JUDGED, "route_key": key} for key in ("quality", "safety")}},
    }
