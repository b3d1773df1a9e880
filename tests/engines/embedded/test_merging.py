"""An adapter in the embedded engine: the same weights as peft's, its name in everything that the engine says."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from assay.core.errors import InputError, StartError
from assay.engines.embedded.config import EmbeddedConfig
from assay.engines.embedded.loading import load
from assay.engines.embedded.lora import read_lora
from assay.engines.embedded.merging import merge

from .adapters import save_adapter, save_card
from .conftest import ask, request, running, save_model, tiny_config


@pytest.fixture(scope="module")
def adapter(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_card(save_adapter(tmp_path_factory.mktemp("judge"), tiny), tiny)


def _plain(path: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # asked for by peft
def test_merged_weights_are_those_that_peft_merges(tiny: Path, adapter: Path) -> None:
    model = _plain(tiny)
    merge(model, read_lora(adapter), "tiny", tiny)
    theirs = PeftModel.from_pretrained(_plain(tiny), str(adapter)).merge_and_unload().state_dict()
    before, after = _plain(tiny).state_dict(), model.state_dict()
    assert after.keys() == theirs.keys()
    for name, tensor in after.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=0, atol=1e-6)
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    assert changed == {name for name in before if name.endswith(("q_proj.weight", "down_proj.weight"))}


def test_one_weight_by_hand(tiny: Path, adapter: Path) -> None:
    from safetensors.torch import load_file

    model, name = _plain(tiny), "model.layers.1.mlp.down_proj"
    before = model.get_submodule(name).weight[5, 7].item()
    merge(model, read_lora(adapter), "tiny", tiny)
    tensors = load_file(adapter / "adapter_model.safetensors")
    a, b = (tensors[f"base_model.model.{name}.lora_{part}.weight"].double() for part in "AB")
    # alpha / rank = 8 / 4
    assert model.get_submodule(name).weight[5, 7].item() == pytest.approx(before + 2 * float(b[5] @ a[:, 7]), abs=1e-5)


def test_nothing_is_changed_where_it_does_not_fit(tmp_path: Path, tiny: Path) -> None:
    wide = save_model(tmp_path / "wide", tiny_config(intermediate_size=64))
    lora = read_lora(save_adapter(tmp_path / "x", wide))
    model, before = _plain(tiny), _plain(tiny).state_dict()
    with pytest.raises(InputError, match=r"does not fit model 'tiny': layer 'model\.layers\.0\.mlp\.down_proj'"):
        merge(model, lora, "tiny", tiny)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_the_engine_says_who_it_is(tiny: Path, adapter: Path) -> None:
    config = EmbeddedConfig(model=str(tiny), device="cpu", adapter=str(adapter))
    identity = read_lora(adapter).identity
    with running(EmbeddedConfig(model=str(tiny), device="cpu")) as bare, running(config) as judge:
        assert (bare.info.adapter, judge.info.adapter) == ("", identity)
        assert judge.info.model == f"{tiny}+{identity}"
        assert judge.info.weight_version != bare.info.weight_version
        ours, theirs = (ask(engine, request("the end"))[0][0] for engine in (judge, bare))
    assert ours.model == f"{tiny}+{identity}"
    assert ours.text != theirs.text


def test_an_adapted_judge_wakes_as_the_one_that_fell_asleep(tiny: Path, adapter: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(adapter, own)
    with running(EmbeddedConfig(model=str(tiny), device="cpu", adapter=str(own))) as engine:
        before = ask(engine, request("the end"))[0][0]
        asyncio.run(engine.sleep())
        asyncio.run(engine.wake())
        after = ask(engine, request("the end"))[0][0]
        assert (after.text, after.weight_version) == (before.text, before.weight_version)
        asyncio.run(engine.sleep())
        save_adapter(own, tiny, seed=1)
        with pytest.raises(StartError, match=r"adapter in .* changed while"):
            asyncio.run(engine.wake())


def test_an_adapted_judge_takes_no_other_weights(tiny: Path, other_weights: Path, adapter: Path) -> None:
    with running(EmbeddedConfig(model=str(tiny), device="cpu", adapter=str(adapter))) as engine:
        with pytest.raises(InputError, match="has an adapter in its weights"):
            asyncio.run(engine.update_weights(str(other_weights), "v2"))
        with pytest.raises(InputError, match="start it with adapter 'none'"):
            asyncio.run(engine.update_tensors([], "v2"))


def test_an_adapter_of_other_weights_does_not_start(other_weights: Path, adapter: Path) -> None:
    with pytest.raises(InputError, match="adapter 'tiny-judge' belongs to 'tiny'"):
        load(EmbeddedConfig(model=str(other_weights), device="cpu", adapter=str(adapter)))


def test_bfloat16_weights_are_summed_in_float32_and_rounded_once(tiny: Path, adapter: Path) -> None:
    name = "model.layers.0.self_attn.q_proj"
    half = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.bfloat16)
    whole = _plain(tiny)
    whole.get_submodule(name).weight.data = half.get_submodule(name).weight.detach().float()
    for model in (half, whole):
        merge(model, read_lora(adapter), "tiny", tiny)
    assert torch.equal(half.get_submodule(name).weight, whole.get_submodule(name).weight.bfloat16())
