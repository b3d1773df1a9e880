"""Every recipe is a whole configuration, and the planner gives it the layout that its name says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from assay.judges import build_judge
from assay.rl.prompts import DataConfig, load_prompts
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.config import RewardConfig
from assay.rl.rewards.loading import load_function

from .commands import RECIPES, ROOT, planned, ranges, trained

ALL_8, ALL_16 = (0, 7), (0, 15)
ONE = {"actor": (0, 0), "rollout": (0, 0), "__default__": (0, 0)}
EXPECTED = {
    "one-gpu-co-resident": ("co-resident", ONE),
    "one-gpu-defer-swap": ("defer-swap", ONE),
    "split-8gpu": ("split", {"actor": ALL_8, "rollout": (0, 3), "__default__": (4, 7)}),
    "co-resident-8gpu": ("co-resident", {"actor": ALL_8, "rollout": ALL_8, "__default__": ALL_8}),
    "split-16gpu": ("split", {"actor": ALL_16, "rollout": (0, 7), "__default__": (8, 15)}),
    "defer-16gpu": ("defer-swap", {"actor": ALL_16, "rollout": ALL_16, "__default__": ALL_16}),
    "two-judges-8gpu": ("split", {"actor": ALL_8, "rollout": (0, 3), "quality": (4, 5), "safety": (6, 7)}),
    "async-8gpu": (
        "fully-async",
        {"actor": (0, 1), "rollout": (2, 4), "reference": (5, 5), "actor_fwd": (6, 6), "__default__": (7, 7)},
    ),
}
PLACES_NOTHING = {"laptop", "agentic", "one-gpu", "lora", "combined", "rubric", "remote-judge"}


def test_every_recipe_is_expected() -> None:
    assert {recipe.stem for recipe in RECIPES} == EXPECTED.keys() | PLACES_NOTHING


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_a_recipe_is_a_whole_configuration(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = trained(monkeypatch, "-c", str(recipe))
    said = {name.replace("-", "_") for name in tomllib.loads(recipe.read_text())}
    assert said <= config.model_fields_set
    assert config.run_dir == Path("runs") / recipe.stem
    assert f"recipes/{recipe.name}" in recipe.read_text(), "its first lines say the command"
    assert trained(monkeypatch, "-c", str(recipe), "--num-rollout", "7").num_rollout == 7


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recipe_has_its_mode_and_its_gpus(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch, "-c", str(ROOT / "recipes" / f"{name}.toml"))
    assert (plan.mode, ranges(plan), plan.warnings) == (*EXPECTED[name], ())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_what_a_recipe_names_in_this_repository_is_there(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = trained(monkeypatch, "-c", str(recipe))
    assert config.prompt_data is not None
    if not config.prompt_data.startswith("exps/"):
        rows = load_prompts(config.prompt_data, config.settings(DataConfig))
        assert len(rows) > 50
        assert all(row.label for row in rows)
    if config.judge is not None:
        build_judge(config.judge)
    if config.custom_rm_path is not None:
        load_function(config.custom_rm_path, flag="--custom-rm-path", takes=("args", "sample"))
    built = build_reward(config.settings(RewardConfig).model_copy(update={"genrm_url": "http://127.0.0.1:9/genrm"}))
    assert not built.grouped


def test_what_is_held_out_is_not_trained_on() -> None:
    data = ROOT / "recipes" / "data"
    trained_on, held = ((data / f"{name}.jsonl").read_text().splitlines() for name in ("sums", "sums-held-out"))
    assert not set(trained_on) & set(held)
    assert len(held) == 40
