"""Two ranks (gloo, FSDP2) train exactly what one process trains, and read each other's checkpoints."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from .ranks_worker import work

WORKER = Path(__file__).with_name("ranks_worker.py")


Pair = tuple[dict[str, Any], dict[str, Any]]
"""What one process does, and what two ranks do."""

SETTINGS: dict[str, dict[str, Any]] = {
    "full": {"max_tokens_per_micro_batch": 24, "gradient_checkpointing": True},
    "updates": {"max_tokens_per_micro_batch": 4096, "global_batch_size": 4, "reference": "offload"},
    "lora": {"lora_rank": 2},
}


def run_ranks(jobs: list[dict[str, Any]], size: int = 2) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
    common |= {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "error::UserWarning:assay"}
    running = [
        subprocess.Popen(
            [sys.executable, str(WORKER), json.dumps(jobs)],
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        errors = [process.communicate(timeout=400)[1] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [p.returncode for p in running] == [0] * size, "\n".join(errors)


def outcome(job: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    return json.loads(Path(job["out"] + ".json").read_text()), load_file(job["out"] + ".safetensors")


def assert_equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    (told_a, weights_a), (told_b, weights_b) = outcome(a), outcome(b)
    assert len(told_a["steps"]) == len(told_b["steps"])
    for ours, theirs in zip(told_a["steps"], told_b["steps"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-10)
    for ours, theirs in zip(told_a["logprobs"], told_b["logprobs"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-10)
    assert weights_a.keys() == weights_b.keys()
    gaps = {name: float((weights_a[name] - weights_b[name]).abs().max()) for name in weights_a}
    assert max(gaps.values()) < 1e-10, gaps


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_ranks_are_one_process(tmp_path: Path) -> None:
    """Both train; then each goes on from the other's checkpoint, and both again do the same."""
    first, second = list[Pair](), list[Pair]()
    for name, settings in SETTINGS.items():

        def job(who: str, *, name: str = name, **more: Any) -> dict[str, Any]:
            return {"out": str(tmp_path / f"{name}.{who}"), **more}

        saved = {who: str(tmp_path / f"{name}.{who}.saved") for who in ("alone", "both")}
        extras = {"export": str(tmp_path / f"{name}.exported"), "sleep": True, "dispatch": True}
        train = {"settings": settings, "steps": [0, 1, 2, 4]}
        first.append((job("alone", save=saved["alone"], **train), job("both", save=saved["both"], **extras, **train)))
        later = [
            job(f"{who}.later", steps=[5, 1], settings=settings | {"load": saved[other]})
            for who, other in (("alone", "both"), ("both", "alone"))
        ]
        second.append((later[0], later[1]))

    for pairs in (first, second):
        run_ranks([both for _, both in pairs])
        for alone, both in pairs:
            work(alone)
            assert_equal(alone, both)
    for _, both in first:
        exported = load_file(Path(both["export"]) / "model.safetensors")
        assert all(torch.equal(exported[name], value) for name, value in outcome(both)[1].items())
    for alone, both in second:
        assert outcome(both)[0]["extra"] == [0, 1, 2, 4]
        assert outcome(both)[0]["version"] == outcome(alone)[0]["version"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_ranks_train_in_single_precision(tmp_path: Path) -> None:
    """What sums of gradients there are depends on their type: single precision is what a run without flags has."""
    alone, both = ({"out": str(tmp_path / who), "settings": {"dtype": "float32"}, "steps": [0, 1]} for who in "ab")
    run_ranks([both])
    work(alone)
    (told_a, _), (told_b, _) = outcome(alone), outcome(both)
    for ours, theirs in zip(told_a["steps"], told_b["steps"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
