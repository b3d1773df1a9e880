"""How weights travel: bytes that come back as the same tensors, and the way that fits engines and mode."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from assay.placement.plans import Mode
from assay.rl.cluster.engines import located
from assay.rl.cluster.publish import sleeps_without_files
from assay.rl.cluster.store import pack, unpacked


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.float16])
def test_tensors_come_back_as_they_were(dtype: torch.dtype) -> None:
    given = {"matrix": torch.randn(3, 5).to(dtype), "scalar": torch.tensor(2.5, dtype=dtype)}
    given["view"] = given["matrix"].T
    found = dict(unpacked({name: pack(tensor) for name, tensor in given.items()}))
    assert found.keys() == given.keys()
    assert all(torch.equal(found[name], tensor) and found[name].dtype == dtype for name, tensor in given.items())


def test_packed_tensors_are_copies_and_may_be_read_only() -> None:
    tensor = torch.ones(4)
    packed = {"w": pack(tensor)}
    tensor.zero_()
    packed["w"][2].setflags(write=False)
    assert torch.equal(dict(unpacked(packed))["w"], torch.ones(4))


def test_engines_that_sleep_on_simulated_gpus_wake_up_from_files() -> None:
    assert sleeps_without_files(Mode.SPLIT, cards=False)
    assert not sleeps_without_files(Mode.SPLIT, cards=True)
    assert not sleeps_without_files(Mode.FULLY_ASYNC, cards=False)


def test_folders_are_named_by_their_whole_path_and_models_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy").mkdir()
    assert located("policy") == str(tmp_path / "policy")
    assert located("Qwen/Qwen3-4B") == "Qwen/Qwen3-4B"
