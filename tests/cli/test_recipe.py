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


@pytest.mark.parametrize("verb", ["train", "sft", "rm"])
def test_a_wrong_flag_beside_a_recipe_is_named_and_the_file_is_not(
    verb: str, recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"train": 'prompt-data = "x"', "sft": 'data = "x"', "rm": 'data = "x"\nkind = "bt"'}
    recipe.write_text(f"lr = 1e-6\n{own[verb]}\n")
    said = refused(verb, recipe, monkeypatch, capsys, "--lr=-1", "--clip-grad", "2")
    assert said.startswith("error: --lr: Input should be greater than")
    assert "(got -1.0)" in said
    assert str(recipe) not in said


def test_what_is_wrong_in_the_file_and_what_beside_it_are_told_apart(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('data = "x"\nlora_rank = -1\nlr = -2.0\n')
    said = refused("sft", recipe, monkeypatch, capsys, "--lr=-1")
    flag, file = said.strip().split("; ")
    assert flag.startswith("error: --lr: ")
    assert file.startswith(f"{recipe}: lora_rank: ")


def test_what_file_and_flag_say_together_names_both(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('data = "x"\n')
    said = refused("sft", recipe, monkeypatch, capsys, "--lr-warmup-minutes", "1", "--seed", "3")
    assert said.startswith(f"error: {recipe} with --lr-warmup-minutes: lr_warmup_minutes needs minutes")


def test_within_a_flag_of_json_the_place_is_told(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('prompt-data = "x"\n')
    said = refused("train", recipe, monkeypatch, capsys, "--reward-parts", '{"a": {"weight": "much"}}')
    assert "error: --reward-parts: a.weight: " in said
    assert str(recipe) not in said


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("stages = 3\n", (), "{recipe}: "),
        ("", ("--stop-after-minutes=-1",), "stop_after_minutes: Input should be greater than 0 (got -1.0)"),
    ],
)
def test_spct_names_the_file_or_the_flag(
    text: str,
    more: tuple[str, ...],
    told: str,
    recipe: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe.write_text(text)
    said = refused("spct", recipe, monkeypatch, capsys, *more)
    assert said.startswith("error: " + told.format(recipe=recipe))


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


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("train", "--prompt-data", "x", "--run-dir", ""), "run_dir"),
        (("sft", "--data", "x", "--run-dir="), "run_dir"),
        (("rm", "--kind", "bt", "--data", "x", "--run-dir", ""), "run_dir"),
        (("spct", "-c", "absent.toml", "--run-dir", ""), "run_dir"),
        (("train", "-c", ""), "recipe"),
        (("demo", "--out", ""), "out"),
        (("rft", "x.jsonl", "--out", ""), "out"),
        (("audit", "x.jsonl", "-o", ""), "out"),
        (("judge", "x.jsonl", "--out", ""), "out"),
        (("judge", "x.jsonl", "--cache", ""), "cache"),
        (("data", "generate", "-o", ""), "out"),
        (("bench", "run", "rewardbench", "--out", ""), "out"),
        (("bench", "report", "runs", ""), "runs"),
        (("model", "merge", "-o", ""), "out"),
        (("view", ""), "run"),
    ],
    ids=lambda told: " ".join(told) if isinstance(told, tuple) else told,
)
def test_nothing_is_no_folder(
    words: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["assay", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == f"error: {name}: names no file and no folder; '.' is the current folder (got '')\n"


def test_nothing_in_a_file_is_no_folder_either(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe.write_text('data = "x"\nrun-dir = ""\n')
    assert refused("sft", recipe, monkeypatch, capsys).startswith(f"error: {recipe}: run_dir: names no file")
