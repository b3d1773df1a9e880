"""``assay model``: show, merge, card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.engines.embedded.adapters import save_adapter, save_card
from tests.engines.embedded.conftest import save_model, tiny_config

from assay.cli.model import CardFlags, MergeFlags, ShowFlags
from assay.cli.model_run import card, merge, show
from assay.core.errors import InputError
from assay.engines.embedded import shipped
from assay.engines.embedded.lora import read_lora
from assay.engines.model_files import state_sha256, weight_files


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_model(tmp_path / "base", tiny_config(num_hidden_layers=1))


@pytest.fixture
def adapter(tmp_path: Path, model: Path) -> Path:
    return save_card(save_adapter(tmp_path / "adapter", model), model)


def test_show_says_what_judges(model: Path, adapter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(ShowFlags(model=str(model)))
    assert json.loads(capsys.readouterr().out)["adapter"] is None
    show(ShowFlags(model=str(model), adapter=str(adapter)))
    told = json.loads(capsys.readouterr().out)
    assert told["state_sha256"] == state_sha256(weight_files(model))
    lora = read_lora(adapter)
    assert (told["adapter"]["name"], told["adapter"]["digest"]) == ("tiny-judge", lora.digest)
    assert (told["adapter"]["rank"], told["adapter"]["scale"], told["adapter"]["layers"]) == (4, 2.0, 2)


def test_show_refuses_an_adapter_of_other_weights(adapter: Path, tmp_path: Path) -> None:
    other = save_model(tmp_path / "other", tiny_config(num_hidden_layers=1), seed=1)
    with pytest.raises(InputError, match="belongs to 'tiny'"):
        show(ShowFlags(model=str(other), adapter=str(adapter)))


def test_merge_writes_a_folder(model: Path, adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge(MergeFlags(out=tmp_path / "out", model=str(model), adapter=str(adapter)))
    assert f"+ {read_lora(adapter).identity} in" in capsys.readouterr().out.replace("\n", "")
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {p.name for p in (tmp_path / "out").iterdir()}


def test_the_card_goes_to_the_screen_or_into_a_page(
    adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    card(CardFlags(adapter=str(adapter)))
    text = capsys.readouterr().out
    assert text.startswith("## tiny-judge\n\nRandom numbers.\n")
    page = tmp_path / "page.md"
    page.write_text("# T\n<!-- card -->\n<!-- /card -->\n")
    card(CardFlags(adapter=str(adapter), into=page))
    assert page.read_text() == f"# T\n<!-- card -->\n{text}<!-- /card -->\n"
    monkeypatch.setattr(shipped, "ADAPTERS", tmp_path / "nothing")
    card(CardFlags())
    assert capsys.readouterr().out.startswith("The package holds no adapter")
    (adapter / "card.json").unlink()
    with pytest.raises(InputError, match=r"has no card\.json"):
        card(CardFlags(adapter=str(adapter)))
