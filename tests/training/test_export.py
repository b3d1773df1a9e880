"""What engines are given: a folder that transformers loads, with the very log-probs of the trainer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from assay.core.errors import OutputError
from assay.training.config import TrainerConfig
from assay.training.objective import NllObjective
from assay.training.trainer import Trainer

from .conftest import batch, tiny
from .test_forward import padded_logprobs


@pytest.mark.parametrize("lora_rank", [0, 4])
@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_an_exported_folder_is_the_policy(tmp_path: Path, kind: str, lora_rank: int) -> None:
    trainer = Trainer(TrainerConfig(lr=1e-2, lora_rank=lora_rank), model=tiny(kind))
    for _ in range(2):
        trainer.step(batch(), NllObjective())
    trainer.export(tmp_path / "out")
    trainer.export(tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    loaded: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert loaded.config.use_cache
    assert loaded.dtype == torch.float32
    with torch.no_grad():
        theirs = padded_logprobs(loaded, list(batch().sequences))
        began = padded_logprobs(tiny(kind), list(batch().sequences))
    for a, b in zip(trainer.logprobs(batch().sequences), theirs, strict=True):
        torch.testing.assert_close(torch.tensor(a), b, atol=1e-4, rtol=0)
    assert float((theirs[0] - began[0]).abs().max()) > 0.01


@pytest.mark.parametrize("lora_rank", [0, 4])
def test_named_tensors_are_the_exported_ones(tmp_path: Path, lora_rank: int) -> None:
    from safetensors.torch import load_file

    trainer = Trainer(TrainerConfig(lr=1e-2, lora_rank=lora_rank), model=tiny("qwen2"))
    trainer.step(batch(), NllObjective())
    trainer.export(tmp_path / "out", dtype=torch.bfloat16)
    written = load_file(tmp_path / "out" / "model.safetensors")
    given = dict(trainer.named_tensors(dtype=torch.bfloat16))
    assert written.keys() == given.keys() == dict(tiny("qwen2").named_parameters()).keys()
    assert all(torch.equal(written[name], given[name]) for name in given)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == "bfloat16"


def test_tokenizer_files_come_along(tmp_path: Path, saved: Callable[..., Path]) -> None:
    source = saved()
    for name in ("tokenizer.json", "chat_template.jinja", "manifest.json"):
        (source / name).write_text("{}")
    trainer = Trainer(TrainerConfig(hf_checkpoint=str(source)))
    trainer.export(tmp_path / "out")
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "chat_template.jinja",
    }


def test_an_export_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot export"):
        Trainer(TrainerConfig(), model=tiny()).export(tmp_path / "file" / "out")


def test_an_adapter_begins_as_no_change_and_is_the_reference_when_off() -> None:
    plain, adapted = (Trainer(TrainerConfig(lr=1e-2, lora_rank=r), model=tiny()) for r in (0, 4))
    began = plain.logprobs(batch().sequences)
    assert adapted.logprobs(batch().sequences) == began
    assert all("lora_" in name for name in adapted.policy.trained)
    adapted.step(batch(), NllObjective())
    assert adapted.logprobs(batch().sequences) != began
    assert adapted.logprobs(batch().sequences, "reference") == began
    before = adapted.logprobs(batch().sequences)
    adapted.step(batch(), NllObjective())
    assert adapted.logprobs(batch().sequences) != before
