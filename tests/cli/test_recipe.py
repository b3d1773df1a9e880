"""Files of flags: one reader for every verb that has ``-c``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.cli.recipe import read_recipe
from assay.core.errors import InputError


def refused(
    verb: str, recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> str:
    monkeypatch.setattr(sys, "argv", ["assay", verb, "-c", str(recipe), *more])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return tmp_path / "recipe.toml"


def test_names_are_those_of_the_flags_with_dashes_or_underscores(recipe: Path) -> None:
    recipe.write_text('lr = 1e-5\nnum-rollout = 3\nprompt_data = "x"\n')
    assert read_recipe(recipe) == {"lr": 1e-5, "num_rollout": 3, "prompt_data": "x"}


@pytest.mark.parametrize("text", ["num-rollout = 3\n", '{"num-rollout": 3}'])
def test_a_byte_order_mark_is_no_part_of_the_text(recipe: Path, text: str) -> None:
    recipe.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_recipe(recipe) == {"num_rollout": 3}


def test_a_flag_in_both_spellings_is_refused(recipe: Path) -> None:
    recipe.write_text("num-rollout = 3\nnum_rollout = 4\n")
    with pytest.raises(InputError, match=r"says 'num-rollout' and 'num_rollout', which are one flag"):
        read_recipe(recipe)


def test_a_key_that_json_has_twice_is_refused(recipe: Path) -> None:
    recipe.write_text('{"reward_parts": {"a": {"weight": 1, "weight": 2}}}')
    with pytest.raises(InputError, match="says 'weight' twice"):
        read_recipe(recipe)


@pytest.mark.parametrize("verb", ["train", "sft", "rm"])
def test_a_boolean_is_no_rate(
    verb: str, recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text("lr = true\n")
    said = refused(verb, recipe, monkeypatch, capsys)
    assert f"{recipe}: lr: must be a number, not true or false (got True)" in said


@pytest.mark.parametrize("verb", ["train", "sft", "rm"])
def test_an_unknown_flag_is_told_with_the_nearest(
    verb: str, recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('lora-rnak = 8\ndata = "x"\n' if verb != "train" else 'lora-rnak = 8\nprompt-data = "x"\n')
    assert "lora_rnak: there is no such option (got 8); did you mean 'lora_rank'?" in refused(
        verb, recipe, monkeypatch, capsys
    )


def test_a_flag_of_json_is_held_to_the_same(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('prompt-data = "x"\n')
    parts = '{"a": {"rm_type": "math", "weight": true}}'
    said = refused("train", recipe, monkeypatch, capsys, "--reward-parts", parts)
    assert "reward_parts.a.weight: must be a number, not true or false (got True)" in said


def test_a_whole_number_is_a_rate_too_and_a_dumped_configuration_is_a_recipe(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('prompt-data = "x"\nlr = 1\nray = false\neval-prompt-data = ["a=b"]\n')
    monkeypatch.setattr(sys, "argv", ["assay", "train", "-c", str(recipe), "--dump-config"])
    dumped: list[str] = []
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        dumped.append(capsys.readouterr().out)
        recipe.write_text(dumped[-1])
    assert dumped[0] == dumped[1]
    assert '"lr": 1.0' in dumped[0]
