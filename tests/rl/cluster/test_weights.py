"""How weights travel: bytes that come back as the same tensors, and the way that fits engines and mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from assay.core.errors import InputError
from assay.placement.plans import Mode
from assay.rl.cluster.engines import located
from assay.rl.cluster.publish import pick_way
from assay.rl.cluster.tensors import pack, unpacked


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


@pytest.mark.parametrize(
    ("asked", "kind", "mode", "cards", "way"),
    [
        ("auto", "embedded", Mode.FULLY_ASYNC, False, "store"),
        ("auto", "embedded", Mode.SPLIT, False, "disk"),
        ("auto", "embedded", Mode.SPLIT, True, "store"),
        ("auto", "sglang", Mode.FULLY_ASYNC, True, "disk"),
        ("disk", "embedded", Mode.FULLY_ASYNC, True, "disk"),
    ],
)
def test_the_way_that_fits(asked: Any, kind: Any, mode: Mode, cards: bool, way: str) -> None:
    assert pick_way(asked, kind, mode, cards=cards) == way


def test_ways_that_cannot_work_are_refused() -> None:
    with pytest.raises(InputError, match="SGLang servers take weights from a folder"):
        pick_way("store", "sglang", Mode.SPLIT, cards=True)
    with pytest.raises(InputError, match="split puts rollout engines to sleep"):
        pick_way("store", "embedded", Mode.SPLIT, cards=False)


def test_folders_are_named_by_their_whole_path_and_models_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy").mkdir()
    assert located("policy") == str(tmp_path / "policy")
    assert located("Qwen/Qwen3-4B") == "Qwen/Qwen3-4B"
