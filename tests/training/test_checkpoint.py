"""Checkpoints: a resumed run is the uninterrupted one, bit by bit; a failed save harms nothing."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.core.errors import InputError, OutputError
from assay.models.losses.config import PolicyLossConfig
from assay.training import folders
from assay.training.config import TrainerConfig
from assay.training.objective import PolicyObjective
from assay.training.trainer import Trainer

from . import conftest
from .conftest import batch, tiny
from .resume_worker import run

OBJECTIVE = PolicyObjective(config=PolicyLossConfig(use_kl_loss=True, kl_loss_coef=0.1))


def trainer(root: Path, **settings: Any) -> Trainer:
    config = {"lr": 1e-3, "save": str(root), "lr_decay_style": "cosine", "lr_decay_iters": 8, "lr_warmup_iters": 2}
    return Trainer(TrainerConfig(**config | settings), model=tiny())


def train(t: Trainer, first: int, last: int) -> None:
    for seed in range(first, last):
        t.step(batch(seed), OBJECTIVE)


def same(a: Trainer, b: Trainer) -> bool:
    ours, theirs = a._tensors(), b._tensors()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("lora_rank", [0, 2])
def test_three_steps_and_three_resumed_are_six(tmp_path: Path, lora_rank: int) -> None:
    whole = trainer(tmp_path / "a", lora_rank=lora_rank)
    train(whole, 0, 6)
    part = trainer(tmp_path / "b", lora_rank=lora_rank)
    train(part, 0, 3)
    part.save(extra={"row": 3})
    drawn = torch.rand(3)
    resumed = trainer(tmp_path / "b", lora_rank=lora_rank, load=str(tmp_path / "b"))
    assert resumed.extra == {"row": 3}
    assert torch.equal(torch.rand(3), drawn)
    assert resumed.weight_version == part.weight_version
    train(resumed, 3, 6)
    assert same(whole, resumed)
    assert resumed.weight_version.endswith(".00000006")


def test_a_checkpoint_before_the_first_step_counts_none(tmp_path: Path) -> None:
    a = trainer(tmp_path)
    a.save()
    b = trainer(tmp_path, load=str(tmp_path))
    plain = trainer(tmp_path)
    for t in (a, b, plain):
        train(t, 0, 2)
    assert same(a, plain)
    assert same(b, plain)


def test_a_run_that_begins_again_draws_the_same(tmp_path: Path) -> None:
    drawn: list[tuple[float, float]] = []
    for seed in (1, 1, 2):
        trainer(tmp_path, seed=seed)
        drawn.append((torch.rand(1).item(), random.random()))
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_last_ones_stay_and_a_step_may_be_saved_again(tmp_path: Path) -> None:
    t = trainer(tmp_path, keep_checkpoints=2)
    for seed in range(3):
        train(t, seed, seed + 1)
        t.save(extra=seed)
    assert [p.name for p in folders.checkpoints(tmp_path)] == ["step-00000002", "step-00000003"]
    t.save(extra="again")
    assert [p.name for p in folders.checkpoints(tmp_path)] == ["step-00000003", "step-00000003.1"]
    assert trainer(tmp_path, load=str(tmp_path)).extra == "again"
    assert trainer(tmp_path, load=str(tmp_path / "step-00000003")).extra == 2


def test_what_a_kill_left_half_written_is_not_taken_and_goes(tmp_path: Path) -> None:
    t = trainer(tmp_path)
    t.save(extra=1)
    shutil.copytree(tmp_path / "step-00000000", tmp_path / ".unfinished-step-00000009")
    assert trainer(tmp_path, load=str(tmp_path)).extra == 1
    t.save(extra=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000000", "step-00000000.1"]


def test_going_back_leaves_no_later_checkpoint(tmp_path: Path) -> None:
    for name in ("step-00000001", "step-00000002", "step-00000002.1", "step-00000003"):
        (tmp_path / name).mkdir()
    folders.go_back(tmp_path, tmp_path)
    folders.go_back(tmp_path, tmp_path / "elsewhere")
    assert len(folders.checkpoints(tmp_path)) == 4
    folders.go_back(tmp_path, tmp_path / "x" / ".." / "step-00000002")
    assert [path.name for path in folders.checkpoints(tmp_path)] == ["step-00000001", "step-00000002"]


def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    t = trainer(tmp_path, keep_checkpoints=1)
    kept = t.save(extra="kept")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 10, 1000))
    with pytest.raises(OutputError, match=r"takes \d\.\d\d MB .* 1\.00 kB free.* untouched"):
        t.save()
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [kept]
    assert trainer(tmp_path, load=str(tmp_path)).extra == "kept"


def test_a_disk_that_fills_while_saving_costs_no_earlier_checkpoint(tmp_path: Path) -> None:
    t = trainer(tmp_path, keep_checkpoints=1)
    kept = t.save(extra="kept")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        with pytest.raises(OutputError, match="untouched") as told:
            t.save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert str(tmp_path) in str(told.value)
    assert re.search(r"the disk is full \(File too large; \d+\.\d\d [GMk]B free without it\)", str(told.value))
    assert list(tmp_path.iterdir()) == [kept]
    assert trainer(tmp_path, load=str(tmp_path)).extra == "kept"
    t.save(extra="later")
    assert trainer(tmp_path, load=str(tmp_path)).extra == "later"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    t = trainer(tmp_path / "a")
    path = t.save()
    with pytest.raises(InputError, match="there is no checkpoint in"):
        trainer(tmp_path, load=str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="another lora_rank"):
        trainer(tmp_path, lora_rank=2, load=str(path))
    adapter = trainer(tmp_path / "l", lora_rank=2).save()
    with pytest.raises(InputError, match="trained on another model"):
        Trainer(TrainerConfig(lora_rank=2, load=str(adapter)), model=tiny(seed=1))
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(state | {"format": 99}))
    with pytest.raises(InputError, match="format 99"):
        t.load(path)
    with pytest.raises(InputError, match="nowhere to save"):
        Trainer(TrainerConfig(), model=tiny()).save()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_killed_in_the_middle_of_saving_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    draw = random.Random(0)
    for _ in range(4):
        command = [sys.executable, str(Path(__file__).with_name("resume_worker.py")), str(tmp_path / "killed"), "1000"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            for _ in range(draw.randint(1, 4)):
                assert process.stdout.readline().startswith("saving")
            # Saving takes some 30 ms on a quiet machine: the kill comes at any moment of it, or just after.
            time.sleep(draw.uniform(0, 0.05))
            process.kill()
    done = json.loads((folders.find(tmp_path / "killed") / "state.json").read_text())["extra"]
    killed, whole = (run(tmp_path / name, done + 2, conftest) for name in ("killed", "whole"))
    assert same(killed, whole)
    assert not [p for p in (tmp_path / "killed").iterdir() if p.name.startswith(".")]


def test_a_small_amount_of_room_is_not_told_as_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(folders.shutil, "disk_usage", lambda _root: usage(10**9, 0, 210_000))
    with pytest.raises(OutputError, match=r"takes 1\.50 MB and the disk under .* has 210\.00 kB free"):
        folders.require_space(tmp_path, 1_500_000)
    with pytest.raises(OutputError, match=r"takes 2\.50 GB and"):
        folders.require_space(tmp_path, 2_500_000_000)
