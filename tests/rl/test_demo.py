"""The demo's training: what it may see, that it learns, and that it does not when rewards mean nothing."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.data.demo import digit_task
from assay.rl.demo import (
    HELD_FILE,
    TRAIN_FILE,
    DemoTraining,
    accuracies,
    judged_by,
    settings,
    warm_pairs,
    warm_policy,
    write_task,
)
from assay.rl.run import RunResult, train

SMALL = DemoTraining(warm_steps=3, warm_batch=8, steps=2, prompts=2, samples=4, evaluations=2)


def run(folder: Path, config: DemoTraining, **more: Any) -> list[tuple[int, float]]:
    write_task(folder)
    if not (folder / "policy").exists():
        warm_policy(folder, config)
    asyncio.run(train(settings(folder, config, **more), RunResult(run_dir=folder / "run")))
    return accuracies(folder / "run")


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_neither_warm_start_nor_training_sees_what_is_held_out(tmp_path: Path) -> None:
    write_task(tmp_path)
    held = {digit_task.answer(row["prompt"].rstrip(digit_task.SIGN)) for row in read(tmp_path / HELD_FILE)}
    trained = [row["prompt"] for row in read(tmp_path / TRAIN_FILE)]
    warmed = [prompt for seed in range(3) for batch in warm_pairs(DemoTraining(seed=seed)) for prompt, _ in batch]
    assert len(held) > 20
    assert len(warmed) == 3 * 120 * 64
    for seen in (trained, warmed):
        assert not held & {digit_task.answer(prompt.rstrip(digit_task.SIGN)) for prompt in seen}
    config = settings(tmp_path, DemoTraining())
    assert config.prompt_data == str(tmp_path / TRAIN_FILE)
    assert config.eval_prompt_data == (f"held-out={tmp_path / HELD_FILE}",)


def test_the_warm_start_follows_from_its_seed() -> None:
    assert list(warm_pairs(SMALL)) == list(warm_pairs(SMALL))
    assert list(warm_pairs(SMALL)) != list(warm_pairs(SMALL.model_copy(update={"seed": 1})))


def test_a_short_run_leaves_what_the_demo_shows(tmp_path: Path) -> None:
    found = run(tmp_path, SMALL)
    assert [step for step, _ in found] == [0, 1, 2]
    lines = read(tmp_path / "run" / "metrics.jsonl")
    by_judge: list[float] = [line["eval/held-out/pass@1"] for line in lines]  # type: ignore[misc]
    assert [right for _, right in found] == pytest.approx(by_judge), "rule and judge agree about whole numbers"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_learns_and_with_shuffled_rewards_it_does_not(tmp_path: Path, seed: int) -> None:
    config = DemoTraining(seed=seed)
    found = run(tmp_path, config)
    assert found[-1][1] >= found[0][1] + 0.3
    control = tmp_path / "control"
    control.mkdir()
    os.symlink(tmp_path / "policy", control / "policy")
    shuffled = {"rm_type": None, "custom_rm_path": "tests.rl.shuffled.shuffled", "group_rm": True}
    without = run(control, config, **shuffled, max_dead_steps=0)
    assert without[0] == found[0], "both begin with the same policy"
    assert without[-1][1] <= without[0][1]


def test_the_judge_model_rewards_fewer_answers_and_sees_one_question(tmp_path: Path) -> None:
    rule, model = judged_by("math", steps=7), judged_by("verifier", steps=7, choices=True)
    assert (rule.judge, rule.steps, rule.prompts) == ("math", 7, DemoTraining().prompts)
    assert (model.judge, model.steps, model.evaluations) == ("verifier", 7, 1)
    assert model.prompts * model.samples < rule.prompts * rule.samples
    flags = settings(tmp_path, model, genrm_url="http://localhost:1/genrm")
    assert (flags.rm_type, dict(flags.judge_options)) == ("dapo-genrm", {"choices": True})
    assert settings(tmp_path, rule).rm_type == "math"
    write_task(tmp_path)
    for name in (TRAIN_FILE, HELD_FILE):
        assert {json.dumps(row["metadata"]) for row in read(tmp_path / name)} == {
            json.dumps({"question": digit_task.TASK})
        }
