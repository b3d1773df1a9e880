"""LoRA folders: read, checked against a model, refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from assay.core.errors import InputError
from assay.engines.embedded.lora import SETTINGS, WEIGHTS, check_base, check_fits, read_lora

from .adapters import save_adapter, save_card

LINEARS = {"a.q_proj": (3, 5), "a.down_proj": (5, 3), "a.k_proj": (2, 5)}


def _folder(tmp_path: Path, shapes: dict[str, tuple[int, ...]] | None = None, **settings: Any) -> Path:
    """Rank 2 on ``a.q_proj`` and ``a.down_proj``, or with other shapes."""
    said = {"r": 2, "lora_alpha": 6, "target_modules": ["q_proj", "down_proj"]} | settings
    (tmp_path / SETTINGS).write_text(json.dumps(said))
    own = {"q_proj.lora_A": (2, 5), "q_proj.lora_B": (3, 2), "down_proj.lora_A": (2, 3), "down_proj.lora_B": (5, 2)}
    own |= shapes or {}
    tensors = {f"base_model.model.a.{name}.weight": torch.ones(shape) for name, shape in own.items() if shape}
    save_file(tensors, tmp_path / WEIGHTS)
    return tmp_path


def test_a_folder_says_layers_rank_and_scale(tmp_path: Path) -> None:
    lora = read_lora(_folder(tmp_path, base_model_name_or_path="org/base"))
    assert (lora.rank, lora.scale, lora.base, lora.card) == (2, 3.0, "org/base", None)
    assert dict(lora.layers) == {"a.q_proj": (3, 5), "a.down_proj": (5, 3)}
    assert lora.name == tmp_path.name
    assert lora.identity == f"{tmp_path.name}@{lora.digest[:12]}"
    check_fits(lora, LINEARS, "m")


def test_rank_stabilised_scale(tmp_path: Path) -> None:
    assert read_lora(_folder(tmp_path, use_rslora=True)).scale == pytest.approx(6 / 2**0.5)


def test_the_digest_follows_numbers_and_scale_and_not_the_folder(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abcd"]
    for folder in folders:
        folder.mkdir()
    same, again, scaled, other = folders
    digests = [read_lora(_folder(same)).digest, read_lora(_folder(again)).digest]
    digests.append(read_lora(_folder(scaled, lora_alpha=7)).digest)
    _folder(other)
    tensors = load_file(other / WEIGHTS)
    next(iter(tensors.values()))[0, 0] = 2.0
    save_file(tensors, other / WEIGHTS)
    digests.append(read_lora(other).digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"use_dora": True}, "use_dora = True is more than a plain LoRA.*merge_and_unload"),
        ({"bias": "all"}, "bias = 'all' is more"),
        ({"modules_to_save": ["score"]}, "modules_to_save"),
        ({"rank_pattern": {"q_proj": 8}}, "rank_pattern"),
        ({"peft_type": "IA3"}, "peft_type = 'IA3'"),
        ({"something_new": 3}, "something_new = 3"),
        ({"target_modules": []}, "target_modules names no layers"),
        ({"r": 0}, "r must be 1 or more"),
        ({"r": 4}, "settings say rank 4, its weights have rank 2"),
        ({"lora_alpha": None}, "holds no settings of a LoRA adapter"),
    ],
)
def test_settings_that_are_not_obeyed_are_refused(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_lora(_folder(tmp_path, **settings))


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"q_proj.lora_B": ()}, "layer 'a.q_proj' has A, and needs both"),
        ({"q_proj.lora_A": (3, 5)}, r"A \(3, 5\) and B \(3, 2\) do not multiply"),
        ({"q_proj.lora_A": (1, 5), "q_proj.lora_B": (3, 1)}, r"share one rank, got \[1, 2\]"),
        ({"q_proj.bias": (3,)}, "is no weight of a LoRA"),
    ],
)
def test_weights_that_make_no_lora_are_refused(tmp_path: Path, shapes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_lora(_folder(tmp_path, shapes))


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no adapter_config.json and no adapter_model.safetensors"):
        read_lora(tmp_path)
    _folder(tmp_path)
    save_file({"a": torch.ones(1)}, tmp_path / "more.safetensors")
    with pytest.raises(InputError, match="other safetensors files"):
        read_lora(tmp_path)


@pytest.mark.parametrize(
    ("settings", "linears", "words"),
    [
        ({}, {"a.q_proj": (3, 5)}, "the model has no linear layer 'a.down_proj'"),
        ({}, LINEARS | {"b.q_proj": (3, 5)}, "names? the layer 'b.q_proj', and it has no weights"),
        ({"target_modules": ["q_proj"]}, LINEARS, "weights for the layer 'a.down_proj', which its settings do not"),
        ({"exclude_modules": ["a.q_proj"]}, LINEARS, "weights for the layer 'a.q_proj', which"),
        ({"target_modules": r"a\.(q|k|down)_proj"}, LINEARS, "names? the layer 'a.k_proj'"),
        ({}, LINEARS | {"a.q_proj": (4, 5)}, r"layer 'a.q_proj' is \(4, 5\) there and \(3, 5\) here"),
    ],
)
def test_an_adapter_must_change_just_the_layers_that_it_names(
    tmp_path: Path, settings: dict[str, Any], linears: dict[str, tuple[int, int]], words: str
) -> None:
    lora = read_lora(_folder(tmp_path, **settings))
    with pytest.raises(InputError, match=f"does not fit model 'm': .*{words}"):
        check_fits(lora, linears, "m")


def test_a_card_that_names_other_weights_is_refused_naming_both(
    tmp_path: Path, tiny: Path, other_weights: Path
) -> None:
    lora = read_lora(save_card(save_adapter(tmp_path / "x", tiny), tiny))
    assert lora.name == "tiny-judge"
    check_base(lora, "tiny", tiny)
    wrong = r"adapter 'tiny-judge' belongs to 'tiny' with weights [0-9a-f]{12} \(made here\); model 'other' in .* has"
    with pytest.raises(InputError, match=f"{wrong}.*--adapter none"):
        check_base(lora, "other", other_weights)


def test_without_a_card_only_shapes_are_checked(tmp_path: Path, tiny: Path, other_weights: Path) -> None:
    check_base(read_lora(save_adapter(tmp_path / "x", tiny)), "other", other_weights)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"judges": {"verifier": {"target": "critique"}}}, "has no target 'critique'"),
        ({"judges": {"rubric": {"target": "scores"}}}, "judge 'rubric' has no target"),
        ({"judges": {}}, "judges"),
        ({"base": {"model": "m", "source": "s", "state_sha256": "abc"}}, "base.state_sha256"),
        ({"colour": "red"}, "colour: there is no such option"),
        ({"figures": [{"title": "t", "columns": ["a"], "rows": [[1, 2]]}]}, "1 columns, and a row of 2"),
    ],
)
def test_a_card_that_is_wrong_is_refused(tmp_path: Path, tiny: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"card.json.*{words}"):
        read_lora(save_card(save_adapter(tmp_path / "x", tiny), tiny, **changes))
