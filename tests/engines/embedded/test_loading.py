from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file, save_file
from transformers import Gemma2Config, GptOssConfig, Mamba2Config

from assay.core.errors import InputError, StartError
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.finding import find_model
from assay.engines.embedded.loading import load
from assay.engines.model_files import weight_version

from .conftest import save_model, tiny_config


def config(path: Path | str, **changes: Any) -> EmbeddedConfig:
    return EmbeddedConfig(model=str(path), device="cpu", **changes)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("./nowhere", "no such folder"),
        ("/no/such/folder", "no such folder"),
        ("a/b/c", "no such folder"),
        ("not a name at all", "unknown model 'not a name at all'.*the hub said"),
    ],
)
def test_an_unknown_model_is_named_with_what_was_tried(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=words):
        find_model(name)


def test_a_hub_name_that_cannot_be_fetched_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def offline(name: str, **_: Any) -> str:
        raise FileNotFoundError("no network and no snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(InputError, match=r"'org/name'.*no network and no snapshot.*local folder.*HF_TOKEN"):
        find_model("org/name")


def test_a_hub_name_is_fetched_without_code_unless_trusted(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[list[str]] = []

    def fetch(name: str, *, allow_patterns: list[str]) -> str:
        asked.append(allow_patterns)
        return str(tiny)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert find_model("org/name") == tiny
    assert find_model("org/name", with_code=True) == tiny
    assert ["*.py" in patterns for patterns in asked] == [False, True]


def test_a_folder_or_file_that_is_no_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config.json and no \*.safetensors"):
        find_model(str(tmp_path))
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="is a file"):
        find_model(str(tmp_path / "x"))


def test_the_version_follows_the_weights(tmp_path: Path, tiny: Path) -> None:
    copy = Path(shutil.copytree(tiny, tmp_path / "copy"))
    assert weight_version(copy) == weight_version(tiny)
    weights = load_file(copy / "model.safetensors")
    weights["lm_head.weight"][0, 0] += 1
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert weight_version(copy) != weight_version(tiny)


def test_a_checkpoint_with_missing_weights_is_refused(tmp_path: Path, tiny: Path) -> None:
    copy = Path(shutil.copytree(tiny, tmp_path / "copy"))
    weights = load_file(copy / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(StartError, match=r"lacks 1 weights.*layers\.1\.mlp\.up_proj"):
        load(config(copy))


def test_a_broken_checkpoint_is_named(tmp_path: Path, tiny: Path) -> None:
    copy = Path(shutil.copytree(tiny, tmp_path / "copy"))
    (copy / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{broken}")
    with pytest.raises(StartError, match="could not be loaded"):
        load(config(copy))
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(settings | {"model_type": "no_such_type"}))
    with pytest.raises(StartError, match="no_such_type"):
        load(config(copy))


def test_cuda_is_refused_where_there_is_none(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(StartError, match="no CUDA device; fix"):
        load(EmbeddedConfig(model=str(tiny), device="cuda"))
    assert load(EmbeddedConfig(model=str(tiny))).device.type == "cpu"


def base(**more: Any) -> dict[str, Any]:
    settings = tiny_config().to_dict()
    keys = ("vocab_size", "hidden_size", "bos_token_id", "eos_token_id", "pad_token_id", "initializer_range")
    return {k: settings[k] for k in keys} | {"num_hidden_layers": 2} | more


HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 64}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Gemma2Config(**base(**HEADS)), "softcap"),
        (GptOssConfig(**base(num_local_experts=2, num_experts_per_tok=1, **HEADS)), "s_aux"),
        (Mamba2Config(**base(num_heads=8, head_dim=16, state_size=8, n_groups=1)), "cannot run"),
    ],
    ids=["softcap", "sinks", "state-space"],
)
def test_a_model_that_packed_attention_cannot_run_is_refused_at_load(made: Any, words: str, tmp_path: Path) -> None:
    folder = save_model(tmp_path, made)
    with pytest.raises(StartError, match=f"cannot run.*{words}.*another engine" if words != "cannot run" else words):
        load(config(folder))


def test_a_model_that_computes_something_else_is_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.engines.embedded.spans import SpanPlan

    right = SpanPlan.attend
    monkeypatch.setattr(SpanPlan, "attend", lambda *a: right(*a).flip(1))
    with pytest.raises(StartError, match="log-probs differ by"):
        load(config(tiny))


def test_settings_are_checked_and_light() -> None:
    for bad in ({"max_batch": 0}, {"device": "tpu"}, {"threads": 0}, {"unknown": 1}, {"model": ""}):
        with pytest.raises(ValidationError):
            EmbeddedConfig(**bad)  # pyright: ignore[reportArgumentType]
    code = (
        "import assay.engines.embedded.config, sys; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
