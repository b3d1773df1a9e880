"""A merged folder is what the embedded engine computes with, as transformers and other servers load it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.engines.embedded.adapters import save_adapter, save_card
from tests.engines.embedded.conftest import save_model, tiny_config
from transformers import AutoModelForCausalLM, AutoTokenizer

from assay.core.errors import InputError
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.loading import load
from assay.engines.embedded.lora import read_lora
from assay.training.merged import write_merged


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("base"), tiny_config(tie_word_embeddings=True))


@pytest.fixture(scope="module")
def adapter(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_card(save_adapter(tmp_path_factory.mktemp("adapter"), model), model)


def test_the_folder_holds_what_the_engine_computes_with(model: Path, adapter: Path, tmp_path: Path) -> None:
    lora = write_merged(str(model), str(adapter), tmp_path / "out")
    assert lora.digest == read_lora(adapter).digest
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    loaded = load(EmbeddedConfig(model=str(model), device="cpu", adapter=str(adapter)))
    ours = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float32).state_dict()
    assert loaded.runner is not None
    for name, tensor in loaded.runner.model.state_dict().items():
        assert torch.equal(ours[name], tensor), name
    text = "the end of it"
    assert AutoTokenizer.from_pretrained(tmp_path / "out")(text) == AutoTokenizer.from_pretrained(model)(text)


def test_another_type_rounds_the_sum_once(model: Path, adapter: Path, tmp_path: Path) -> None:
    write_merged(str(model), str(adapter), tmp_path / "whole")
    write_merged(str(model), str(adapter), tmp_path / "half", "bfloat16")
    whole, half = (
        AutoModelForCausalLM.from_pretrained(tmp_path / name, dtype="auto").state_dict() for name in ("whole", "half")
    )
    assert {tensor.dtype for tensor in half.values()} == {torch.bfloat16}
    assert all(torch.equal(half[name], tensor.bfloat16()) for name, tensor in whole.items())


def test_what_cannot_be_merged_is_refused_and_leaves_nothing(model: Path, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing to merge"):
        write_merged(str(model), "none", tmp_path / "out")
    with pytest.raises(InputError, match="is there already"):
        write_merged(str(model), str(adapter), model)
    other = save_model(tmp_path / "other", tiny_config(), seed=1)
    with pytest.raises(InputError, match="adapter 'tiny-judge' belongs to 'tiny'"):
        write_merged(str(other), str(adapter), tmp_path / "out")
    assert not (tmp_path / "out").exists()
