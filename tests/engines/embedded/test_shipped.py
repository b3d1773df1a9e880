"""Which adapter judges: what the user says, else that of the package where it was made for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors import safe_open

from assay.core.errors import InputError
from assay.core.types import SamplingParams
from assay.engines.embedded import shipped
from assay.engines.embedded.adapter_card import read_card
from assay.engines.embedded.config import DEFAULT_MODEL, NO_ADAPTER
from assay.engines.embedded.lora import WEIGHTS
from assay.engines.embedded.shipped import (
    DEFAULT_ADAPTER,
    card_of,
    check_form,
    find_adapter,
    forms,
    judging_adapter,
)
from assay.judges import build_judge

from .adapters import save_adapter, save_card

ONLY_VERIFIER = {"judges": {"verifier": {"target": "forms", "max_new_tokens": 96, "temperature": 0.0}}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without adapters."""
    monkeypatch.setattr(shipped, "ADAPTERS", tmp_path)
    return tmp_path


@pytest.fixture
def package(home: Path, tiny: Path) -> Path:
    """A package with an adapter for the verifier."""
    save_card(save_adapter(home / DEFAULT_ADAPTER, tiny), tiny, name=DEFAULT_ADAPTER, **ONLY_VERIFIER)
    return home


@pytest.mark.parametrize(
    ("model", "said", "judges", "adapter"),
    [
        (None, None, ["verifier"], DEFAULT_ADAPTER),
        (DEFAULT_MODEL, None, ["verifier"], DEFAULT_ADAPTER),
        (DEFAULT_MODEL, None, ["tokenprob", "verifier"], DEFAULT_ADAPTER),
        (None, None, None, DEFAULT_ADAPTER),
        (None, None, ["tokenprob"], NO_ADAPTER),
        (None, None, [], NO_ADAPTER),
        ("org/model", None, ["verifier"], NO_ADAPTER),
        ("org/model", None, None, NO_ADAPTER),
        (None, NO_ADAPTER, ["verifier"], NO_ADAPTER),
        (None, "some/folder", ["tokenprob"], "some/folder"),
        ("org/model", "some/folder", None, "some/folder"),
    ],
)
@pytest.mark.usefixtures("package")
def test_the_table_of_defaults(model: str | None, said: str | None, judges: list[str] | None, adapter: str) -> None:
    assert judging_adapter(model, said, judges) == adapter


def test_a_folder_is_told_by_its_whole_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "own").mkdir()
    monkeypatch.chdir(home)
    assert judging_adapter(None, "own", None) == str(home / "own")
    assert judging_adapter(None, NO_ADAPTER, None) == NO_ADAPTER


@pytest.mark.usefixtures("home")
def test_a_package_without_an_adapter_has_no_default() -> None:
    assert judging_adapter(None, None, ["verifier"]) == NO_ADAPTER
    assert judging_adapter(None, None, None) == NO_ADAPTER


def test_an_adapter_of_the_package_needs_its_card(home: Path, tiny: Path) -> None:
    save_adapter(home / DEFAULT_ADAPTER, tiny)
    with pytest.raises(InputError, match="has no card"):
        judging_adapter(None, None, None)


def test_adapters_are_found_by_name_and_by_folder(package: Path, tiny: Path, tmp_path: Path) -> None:
    found = find_adapter(DEFAULT_ADAPTER)
    assert found is not None
    assert (found.name, found.path) == (DEFAULT_ADAPTER, package / DEFAULT_ADAPTER)
    own = find_adapter(str(save_adapter(tmp_path / "mine" / "own", tiny, seed=3)))
    assert own is not None
    assert own.name == "own"
    assert find_adapter(NO_ADAPTER) is None
    with pytest.raises(InputError, match=f"no adapter 'nowhere': the package has {DEFAULT_ADAPTER}; else name a fol"):
        find_adapter("nowhere")


@pytest.mark.usefixtures("package")
def test_a_card_says_how_its_judges_are_sampled() -> None:
    card = card_of(DEFAULT_ADAPTER)
    assert forms(card) == {"verifier": SamplingParams(max_new_tokens=96, temperature=0.0)}
    assert forms(None) == {}
    assert card_of(NO_ADAPTER) is None


def test_room_follows_the_target(tmp_path: Path, tiny: Path) -> None:
    card = read_card(save_card(tmp_path, tiny))
    assert {name: form.max_new_tokens for name, form in forms(card).items()} == {"verifier": 8, "pointwise": 64}


@pytest.mark.usefixtures("package")
def test_a_label_after_a_line_cannot_be_read_first() -> None:
    card = card_of(DEFAULT_ADAPTER)
    check_form(card, build_judge("verifier"))
    check_form(card, build_judge("tokenprob"))
    with pytest.raises(InputError, match="writes normal forms before it: leave choices out"):
        check_form(card, build_judge("verifier", choices=True))


def test_what_the_package_ships_is_small_and_whole() -> None:
    """Of whatever adapters are there: rank, type, size, card."""
    for name in shipped.shipped():
        lora = find_adapter(name)
        assert lora is not None
        assert lora.card is not None
        assert lora.card.name == name
        assert lora.rank <= 16
        assert (lora.path / WEIGHTS).stat().st_size <= 12_000_000
        with safe_open(lora.path / WEIGHTS, "pt") as file:
            assert {file.get_slice(key).get_dtype() for key in file.keys()} == {"BF16"}  # noqa: SIM118
