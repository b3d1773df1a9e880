"""One process of the tests with several ranks: ``python ranks_worker.py JOBS``, ranks named by the environment.

Jobs are a JSON list; each says what to load, which steps to train, where to save and where to write what came of it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch.distributed.tensor import DTensor

from assay.core.errors import StartError
from assay.models.losses.config import PolicyLossConfig
from assay.training.config import TrainerConfig
from assay.training.dispatch import Dispatch
from assay.training.objective import PolicyObjective
from assay.training.trainer import Trainer


def made() -> Any:
    """The tests' models and batches; pytest imports them under another name."""
    spec = importlib.util.spec_from_file_location("made", Path(__file__).with_name("conftest.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def work(job: dict[str, Any]) -> None:
    known = made()
    settings = {"dtype": "float64", "lr": 1e-3, "weight_decay": 0.1} | job["settings"]
    trainer = Trainer(TrainerConfig(**settings), model=known.tiny("qwen2", dtype=getattr(torch, settings["dtype"])))
    objective = PolicyObjective(
        config=PolicyLossConfig(use_kl_loss=True, kl_loss_coef=0.1), aggregation="sequence_mean"
    )
    assert all(isinstance(p, DTensor) for p in trainer.policy.trained.values()) == trainer.ranks.together
    steps: list[dict[str, Any]] = []
    for seed in job["steps"]:
        # Ever fewer groups: of the last, some ranks have less to do than others, or nothing.
        done = trainer.step(known.batch(seed, groups=max(1, 3 - seed), size=4 if seed < 4 else 1), objective)
        steps += [{"loss": u.loss, "norm": u.grad_norm, **u.terms} for u in done.updates]
    if job.get("save"):
        trainer.save(Path(job["save"]), extra=job["steps"])
    if job.get("export"):
        trainer.export(Path(job["export"]))
    if job.get("sleep"):
        trainer.sleep()
        trainer.wake()
    if job.get("dispatch"):
        dispatched(trainer)
    logprobs = trainer.logprobs(known.batch().sequences)
    weights = {name: value.contiguous() for name, value in trainer.named_tensors()}
    if trainer.ranks.first:
        told = {"steps": steps, "logprobs": logprobs, "extra": trainer.extra, "version": trainer.weight_version}
        Path(job["out"] + ".json").write_text(json.dumps(told))
        save_file(weights, job["out"] + ".safetensors")


def dispatched(trainer: Trainer) -> None:
    """Buckets of the last rank are the weights, also after it had no memory for one of them, in which all went on."""
    dispatch, last = Dispatch(trainer, dtype="bfloat16", bucket_bytes=2048, limit_s=60), trainer.ranks.size - 1
    fills, made = trainer.ranks.rank == last, 0
    real = dispatch._empty

    def full(size: int) -> torch.Tensor:
        nonlocal made
        made += 1
        if made == 2:
            raise torch.OutOfMemoryError("no memory")
        return real(size)

    dispatch._empty = full
    for turn in (1, 2):
        dispatch.begin(trainer.weight_version, fills=fills)
        got: dict[str, torch.Tensor] = {}
        lost = set[str]()
        while True:
            try:
                bucket = dispatch.next(int(fills))
            except StartError:
                assert fills
                lost = set(dispatch.shapes) - set(got)
                continue
            if bucket is None:
                break
            assert len(bucket.payloads) == int(fills)
            if fills and dispatch._flat is not None:
                parts = dispatch._flat.view(torch.bfloat16).split([torch.Size(s).numel() for s in bucket.shapes])
                got |= {n: p.reshape(s).clone() for n, s, p in zip(bucket.names, bucket.shapes, parts, strict=True)}
        dispatch.end()
        expected = {name: value.clone() for name, value in trainer.named_tensors(dtype=torch.bfloat16)}
        assert all(torch.equal(value, expected[name]) for name, value in got.items())
        if fills:
            assert bool(lost - set(got)) == (turn == 1)
            assert set(got) | (lost if turn == 1 else set()) == set(expected)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    try:
        for each in json.loads(sys.argv[1]):
            work(each)
    finally:
        dist.destroy_process_group()
