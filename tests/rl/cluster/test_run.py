"""``assay train --ray``: the same flags, the same run as in one process, also when it is gone on with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.rl.config import TrainConfig
from assay.rl.run import RunResult, train
from assay.tracking.lines import NAME, read_lines

from .stage import ENGINE, PROMPTS, Models, save_models


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return save_models(tmp_path_factory.mktemp("models"))


def config(models: Models, folder: Path, **more: Any) -> TrainConfig:
    folder.mkdir(exist_ok=True)
    prompts = folder / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in PROMPTS))
    said: dict[str, Any] = {
        "prompt_data": str(prompts),
        "label_key": None,
        "hf_checkpoint": str(models.policy),
        "dtype": "float64",
        "device": "cpu",
        "lr": 0.01,
        "adam_eps": 1e-4,
        "use_kl_loss": True,
        "kl_loss_coef": 0.1,
        "batch_invariant": True,
        "rollout_batch_size": 2,
        "n_samples_per_prompt": 3,
        "rollout_max_response_len": 5,
        "colocate": True,
        "resource": {"actor": (1, 2), "rollout": (1, 1), "genrm": (1, 1)},
        "genrm_instances": {"quality": {"model_path": str(models.judges["quality"]), "num_gpus": 1}},
        "genrm_engine_options": ENGINE,
        "rollout_engine_options": {"threads": 1},
        "judge": "tokenprob",
        "judge_options": {"min_mass": 0.0},
        "route_key": "quality",
        "cluster": "1x4xCPU",
        "tracker": "none",
        "run_dir": folder / "run",
        "save_interval": 1,
    }
    return TrainConfig(**said | more)


def go(own: TrainConfig) -> RunResult:
    result = RunResult(run_dir=own.run_dir)
    asyncio.run(train(own, result))
    return result


def exact(run_dir: Path) -> list[dict[str, float]]:
    names = ("train/loss", "train/grad_norm", "reward/mean", "rollout/response_length")
    return [{name: line[name] for name in names} for line in read_lines(run_dir / NAME) if "train/loss" in line]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_on_ray_is_the_run_in_one_process_also_when_it_is_gone_on_with(models: Models, tmp_path: Path) -> None:
    go(config(models, tmp_path / "alone", num_rollout=4))
    first = go(config(models, tmp_path / "ray", num_rollout=2, ray=True))
    second = go(config(models, tmp_path / "ray", num_rollout=3, ray=True))
    third = go(config(models, tmp_path / "ray", num_rollout=4))
    assert (first.steps, second.first_step, second.steps, third.first_step) == (2, 2, 3, 3)
    alone, ours = exact(tmp_path / "alone" / "run"), exact(tmp_path / "ray" / "run")
    assert len(ours) == 4
    for a, b in zip(ours, alone, strict=True):
        assert a == pytest.approx(b, abs=4e-6)


def test_ray_without_a_plan_is_refused(models: Models, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="say --resource"):
        go(config(models, tmp_path / "none", ray=True, colocate=False, resource=None, num_rollout=1))
