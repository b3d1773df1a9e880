"""The graph of stages: what needs what, when a stage is another one, where it lies, what a recipe may say."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.spct.pipeline.line import seed_of, stages
from assay.spct.pipeline.mark import Mark, standing
from assay.spct.pipeline.recipe import SpctRecipe
from assay.spct.pipeline.schedule import due, remove_first
from assay.spct.pipeline.stage import HERE, At, Command, Joined, Stage, behind, keys_of, needed
from assay.spct.pipeline.variants import Variant, chosen, variants

RUN = Path("run")


def recipe(**more: Any) -> SpctRecipe:
    return SpctRecipe(**{"items": {"general": 10}, "rft": {"ratio": 0.5}} | more)


def line(**more: Any) -> dict[str, Stage]:
    return {stage.name: stage for stage in stages(recipe(**more))}


def words(stage: Stage, place: int = 0) -> list[str]:
    return [str(word) for word in stage.commands[place].words]


def value(found: list[str], flag: str) -> str:
    return found[found.index(flag) + 1]


def test_every_stage_stands_behind_what_it_needs() -> None:
    seen: set[str] = set()
    for stage in stages(recipe()):
        assert set(stage.needs) <= seen
        seen.add(stage.name)
        for command in stage.commands:
            parts = [
                part for word in (*command.words, *(command.flags or {}).values(), command.model) for part in _at(word)
            ]
            assert {part.stage for part in parts} - {HERE} <= set(stage.needs), stage.name
    assert seen == {
        *("items", "cold", "general", "samples", "rft", "sft", "rl", "trajectories", "meta"),
        *("evaluate-base", "evaluate-cold", "evaluate-rft", "evaluate-rl", "evaluate-meta"),
    }


def _at(word: object) -> list[At]:
    if isinstance(word, Joined):
        return list(word.parts)
    return [word] if isinstance(word, At) else []


def test_what_is_measured_on_is_held_out_by_side_and_by_seed() -> None:
    commands = {command.name: [str(word) for word in command.words] for command in line()["items"].commands}
    assert value(commands["held"], "--side") == "held"
    assert "single" not in commands["held"]
    assert value(commands["held"], "-n") == str(3 * 150)
    pools = [seed_of(recipe(seed=s), pool) for s in (0, 1) for pool in ("items", "held", "cold", "general", "meta")]
    assert len(set(pools)) == 10


def test_rates_and_the_kl_are_the_papers_unless_said() -> None:
    stage = line()["rl"].commands[0]
    assert stage.flags is not None
    found = {name: stage.flags[name] for name in ("lr", "kl_loss_coef", "n_samples_per_prompt", "rm_type")}
    assert found == {"lr": 4e-7, "kl_loss_coef": 0.08, "n_samples_per_prompt": 4, "rm_type": "grm-outcome"}
    other = line(rl={"lr": 1e-6, "minutes": 4})["rl"]
    assert (dict(other.commands[0].flags or {})["lr"], other.minutes) == (1e-6, 4)


def test_votes_are_a_pass_of_their_own_beside_greedy() -> None:
    stage = line(evaluate={"k": 16, "temperature": 0.7})["evaluate-rl"]
    greedy, votes = words(stage, 0), words(stage, 1)
    assert '"temperature": 0.0' in value(greedy, "--sampling")
    assert "--k" not in greedy
    assert (value(votes, "--k"), '"temperature": 0.7' in value(votes, "--sampling")) == ("16", True)
    assert stage.commands[1].model == At("rl", "run/model")
    assert line()["evaluate-base"].commands[0].model == "smollm2-135m-instruct"


def changed(one: SpctRecipe, other: SpctRecipe) -> set[str]:
    before, after = keys_of(stages(one)), keys_of(stages(other))
    return {name for name in before if before[name] != after.get(name)}


def test_a_setting_changes_its_stage_and_all_that_need_it() -> None:
    assert changed(recipe(), recipe()) == set()
    assert changed(recipe(), recipe(engine={"kind": "sglang", "concurrency": 256})) == set()
    assert changed(recipe(), recipe(meta={"rm": {"lr": 2e-5}})) == {"meta", "evaluate-meta"}
    assert changed(recipe(), recipe(evaluate={"k_meta": 2})) == {"evaluate-meta"}
    after_rl = {"rl", "trajectories", "meta", "evaluate-rl", "evaluate-meta"}
    assert changed(recipe(), recipe(rl={"lr": 1e-6})) == after_rl
    hint = {"rft", "sft", "evaluate-rft", *after_rl}
    assert changed(recipe(), recipe(rft={"ratio": 0.5, "n": 4})) == {"samples", *hint}
    assert changed(recipe(), recipe(rft={"ratio": 0.5, "hint": False})) == hint
    assert changed(recipe(), recipe(base="other")) >= {"cold", "general", "evaluate-base"}
    assert "items" not in changed(recipe(), recipe(base="other"))


def test_other_content_of_a_file_of_principles_is_another_cold_start() -> None:
    given = recipe(principles="own.toml")
    one, two = (keys_of(stages(given, digests={"own.toml": text})) for text in "ab")
    assert (one["items"], one["cold"] == two["cold"]) == (two["items"], False)


def test_what_a_stage_needs_and_who_needs_it() -> None:
    every = stages(recipe())
    assert [stage.name for stage in needed(every, ["evaluate-cold"])] == ["items", "cold", "evaluate-cold"]
    assert behind(every, "rl") == ("rl", "trajectories", "meta", "evaluate-rl", "evaluate-meta")
    with pytest.raises(InputError, match="there is no stage 'sfx'"):
        needed(every, ["sfx"])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"sft": {"data": "x"}}, "sft: 'data' is set by the pipeline"),
        ({"rl": {"rollout_engine": "sglang"}}, "rl: 'rollout_engine' is set by the pipeline"),
        ({"rl": {"lrr": 1}}, "rl: lrr: there is no such option"),
        ({"cold": {"sft": {"minutes": -1}}}, "cold.sft: minutes"),
        ({"meta": {"rm": {"margin": "gold"}}}, "meta.rm: margin and center"),
        ({"leave_out": ["sums"]}, "leave_out 'sums' is none of the sources"),
        ({"rft": {"ratio": 1.0}, "items": {}}, "items.general asks for no prompts"),
        ({"rft": {"seed": 1}}, "the seed stands at the top"),
        ({"principles": "x", "judge": "pairwise"}, "principles are for the pointwise judge"),
        ({"evaluate": {"k": 4, "k_meta": 5}}, "k_meta 5 is more than k 4"),
        ({"ablation": [{"name": "a", "paper": "w/o X"}]}, "'w/o X' is none of the paper's rows"),
        ({"ablation": [{"name": "a"}, {"name": "a"}]}, "two ablations are called 'a'"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(said: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        recipe(**said)


ABLATIONS = [
    {"name": "no-hint", "until": "rft", "set": {"rft.hint": False}},
    {"name": "no-rft", "skip_sft": True},
    {"name": "no-hint-rl", "set": {"rft.hint": False}},
    {"name": "pairwise", "set": {"judge": "pairwise"}},
]


def ablated() -> dict[str, Variant]:
    return {one.name: one for one in variants(recipe(ablation=ABLATIONS), RUN)}


def test_an_ablation_lies_where_an_equal_stage_lies_already() -> None:
    found = ablated()
    hint = found["no-hint"]
    assert [one.stage.name for one in hint.placed] == [
        *("items", "cold", "general", "samples", "rft", "sft", "evaluate-rft"),
    ]
    assert hint.folder("samples") == RUN / "samples", "nothing is asked again"
    assert hint.folder("cold") == RUN / "cold"
    assert hint.folder("rft") == RUN / "ablations/no-hint/rft"
    assert found["no-hint-rl"].folder("sft") == RUN / "ablations/no-hint/sft", "shared with another ablation"
    assert found["no-hint-rl"].folder("rl") == RUN / "ablations/no-hint-rl/rl"
    skips = found["no-rft"]
    assert (skips.folder("rft"), skips.folder("rl")) == (RUN / "rft", RUN / "ablations/no-rft/rl")
    assert "sft" not in [one.stage.name for one in skips.placed]
    assert (skips.at("rl").stage.commands[0].flags or {})["hf_checkpoint"] == At("cold", "run/model")
    pairs = found["pairwise"]
    assert {one.stage.name for one in pairs.placed if one.owner == "main"} == {"items", "general"}
    assert "single" not in words(pairs.at("cold").stage)


def test_lines_are_chosen_by_name() -> None:
    every = variants(recipe(ablation=ABLATIONS), RUN)
    assert [one.name for one in chosen(every, ())] == ["main"]
    assert [one.name for one in chosen(every, ("no-rft",))] == ["no-rft"]
    assert len(chosen(every, ("all",))) == 4
    with pytest.raises(InputError, match="there is no ablation 'none'; the recipe has no-hint"):
        chosen(every, ("none",))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"rft.hints": False}, "ablation 'x': rft.hints: there is no such option"),
        ({"engine.kind": "fake"}, "same for all"),
    ],
)
def test_an_ablation_that_sets_what_is_not_there_is_refused(told: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        variants(recipe(ablation=[{"name": "x", "set": told}]), RUN)


def mark_of(variant: Variant, name: str, **more: Any) -> Mark:
    placed = variant.at(name)
    own: dict[str, Any] = {"stage": name, "key": placed.key, "settings": dict(placed.stage.settings)}
    return Mark(**own | more)


def test_how_a_stage_stands() -> None:
    done = Mark(stage="rl", key="k", settings={}, needs={"sft": "one"}, made="x")
    assert standing(None, "k", {}) == "to do"
    assert standing(done, "k", {"sft": "one"}) == "done"
    assert standing(done.model_copy(update={"made": None}), "k", {"sft": "one"}) == "begun"
    assert standing(done, "other", {"sft": "one"}) == "changed"
    assert standing(done, "k", {"sft": "two"}) == "stale"
    assert standing(done, "k", {"sft": None}) == "done", "what it needs is not there any more, and not another one"


def test_changed_settings_are_refused_by_name() -> None:
    (before,) = chosen(variants(recipe(sft={"lr": 1e-5}), RUN), ())
    (after,) = chosen(variants(recipe(sft={"lr": 2e-5}), RUN), ())
    marks = {before.folder("sft"): mark_of(before, "sft", made="x")}
    (one,) = due((after,), ["sft"], marks)
    with pytest.raises(InputError, match=r"begun with sft.lr=1e-05 instead of 2e-05: .* give --redo sft"):
        one.check()
    (same,) = due((before,), ["sft"], marks)
    same.check()
    assert same.done
    with pytest.raises(InputError, match="there is no stage 'x'"):
        due((before,), ["x"], marks)


def test_what_was_made_of_something_else_is_stale() -> None:
    (main,) = chosen(variants(recipe(), RUN), ())
    marks = {
        main.folder("cold"): mark_of(main, "cold", made="new"),
        main.folder("evaluate-cold"): mark_of(main, "evaluate-cold", made="x", needs={"items": "a", "cold": "old"}),
    }
    (one,) = due((main,), ["evaluate-cold"], marks)
    with pytest.raises(InputError, match="made anew since; give --redo evaluate-cold"):
        one.check()


def test_redo_takes_what_is_behind_it_and_nothing_of_another_line() -> None:
    found = ablated()
    assert [one.stage.name for one in remove_first(found["main"], ["meta"])] == ["meta", "evaluate-meta"]
    assert [one.stage.name for one in remove_first(found["no-hint"], ["rft"])] == ["rft", "sft", "evaluate-rft"]
    with pytest.raises(InputError, match="'no-hint' shares this stage with 'main'; redo it there"):
        remove_first(found["no-hint"], ["cold"])


def test_paths_are_those_of_the_folders() -> None:
    command = Command(
        name="rm",
        words=("rm", At(HERE, "a")),
        makes="m",
        flags={"data": Joined((At("x", "b"), At("y", "c"))), "lr": 0.1},
    )

    def folder(name: str) -> Path:
        return Path("/own") if name == HERE else Path("/other") / name

    assert command.rendered(folder) == ("rm", "/own/a", "-c", "/own/rm.json")
    assert command.flags_at(folder) == {"data": "/other/x/b,/other/y/c", "lr": 0.1}


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[3] / "recipes/spct").glob("*.toml")), ids=lambda p: p.stem
)
def test_the_recipes_of_the_repository_are_recipes(path: Path) -> None:
    told = tomllib.loads(path.read_text())
    if "items" not in told:  # principles, or the flags of another command
        return
    every = variants(SpctRecipe(**told), RUN)
    assert every[0].name == "main"
