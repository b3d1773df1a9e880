"""Whole runs out of their flags, in one process: rewards that come later, evaluation by other rewards, the monitor."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.core.errors import InputError, TrainingStopped
from assay.rl.config import TrainConfig
from assay.rl.evaluation import eval_path
from assay.rl.progress import AnswersJudged, Event, PhaseBegan, StepMade
from assay.rl.run import RunResult, train
from assay.tracking.lines import NAME, read_lines

from .cluster.stage import ENGINE, PROMPTS, Models, save_models
from .tiny import save_tiny

OWN = Path(__file__).with_name("own_rewards.py")
GOLD = Path(__file__).with_name("gold.jsonl")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("policy"))


def rows(path: Path, told: list[dict[str, str]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in told))
    return str(path)


def sums(folder: Path) -> str:
    return rows(folder / "sums.jsonl", [{"prompt": f"{a}+1=", "label": str(a + 1)} for a in range(4)])


def small(policy: Path, folder: Path, **more: Any) -> TrainConfig:
    """A policy that writes digits."""
    said: dict[str, Any] = {
        "prompt_data": sums(folder),
        "hf_checkpoint": str(policy),
        "device": "cpu",
        "rollout_batch_size": 2,
        "n_samples_per_prompt": 4,
        "rollout_max_response_len": 4,
        "num_rollout": 2,
        "rollout_engine_options": {"threads": 1},
        "tracker": "none",
        "run_dir": folder / "run",
        "max_dead_steps": 0,
    }
    return TrainConfig(**said | more)


def judged(models: Models, folder: Path, **more: Any) -> TrainConfig:
    """A judge model asked by its label probabilities."""
    prompts = rows(folder / "prompts.jsonl", [{"prompt": prompt} for prompt in PROMPTS])
    said: dict[str, Any] = {
        "prompt_data": prompts,
        "label_key": None,
        "hf_checkpoint": str(models.policy),
        "dtype": "float64",
        "device": "cpu",
        "lr": 0.01,
        "batch_invariant": True,
        "rollout_batch_size": 2,
        "n_samples_per_prompt": 3,
        "rollout_max_response_len": 5,
        "num_rollout": 2,
        "rollout_engine_options": {"threads": 1},
        "genrm_instances": {"quality": {"model_path": str(models.judges["quality"]), "num_gpus": 1}},
        "genrm_engine_options": ENGINE,
        "judge": "tokenprob",
        "judge_options": {"min_mass": 0.0},
        "tracker": "none",
        "run_dir": folder / "run",
        "eval_prompt_data": (f"held={prompts}",),
        "eval_interval": 1,
    }
    return TrainConfig(**said | more)


DEFERRED = {
    "colocate": True,
    "resource": {"actor": (1, 1), "rollout": (1, 1), "genrm": (1, 1)},
    "cluster": "1x1xCPU",
    "rm_type": "dummy",
    "defer_reward_to_post_process": True,
}


def go(config: TrainConfig, told: list[Event] | None = None) -> list[dict[str, Any]]:
    """Train; the lines of the run."""
    asyncio.run(train(config, RunResult(run_dir=config.run_dir), tell=None if told is None else told.append))
    return read_lines(config.run_dir / NAME)


def exact(lines: list[dict[str, Any]], *prefixes: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k.startswith(("step", *prefixes))} for line in lines]


def test_with_judges_that_sleep_through_the_rollout_the_run_is_the_same(models: Models, tmp_path: Path) -> None:
    inline = go(judged(models, tmp_path / "inline"))
    told: list[Event] = []
    watch = {"monitor_interval": 1, "monitor_attack_items": 0, "monitor_gold": GOLD}
    deferred = go(judged(models, tmp_path / "deferred", **DEFERRED, **watch), told)
    both = [exact(lines, "eval/", "reward/", "train/loss") for lines in (inline, deferred)]
    for one, other in zip(*both, strict=True):
        assert one == pytest.approx(other, abs=1e-6)
    assert [line["step"] for line in deferred if line.get("eval/held/reward") is not None] == [-1, 0, 1]
    assert any(line["reward/std"] for line in deferred[1:]), "the judge's rewards are what is trained on"
    assert all(0.0 <= line["monitor/agreement"] <= 1.0 for line in deferred[1:])
    phases = [event.phase for event in told if isinstance(event, PhaseBegan)]
    assert phases[:2] == ["generate", "judge"], "the baseline is judged while the rollout sleeps"
    assert phases[2:6] == ["generate", "sleep", "judge", "sleep"]
    assert sum(event.answers for event in told if isinstance(event, AnswersJudged)) == 2 * 2 * 3
    assert [event.step for event in told if isinstance(event, StepMade)] == [-1, 0, 1]


def test_the_hook_is_called_without_deferral_too(digits: Path, tmp_path: Path) -> None:
    lines = go(
        small(
            digits,
            tmp_path,
            custom_rm_path=f"{OWN}:table",
            reward_key="score",
            custom_reward_post_process_path=f"{OWN}:doubled",
            eval_prompt_data=(f"sums={sums(tmp_path)}",),
            eval_temperature=0.0,
        )
    )
    samples = pq.read_table(tmp_path / "run" / "samples" / "step-000000.parquet").to_pylist()
    assert all(row["reward"] == 2 * len(row["response"]) for row in samples)
    assert all(json.loads(row["parts"])["raw"] == len(row["response"]) for row in samples)
    answers = pq.read_table(eval_path(tmp_path / "run", "sums", -1)).to_pylist()
    assert [row["reward"] for row in answers] == [len(row["response"]) for row in answers], "evaluation is without it"
    assert lines[-1]["reward/mean"] > 0


@pytest.mark.parametrize("deferred", [False, True])
def test_a_hook_that_alone_gives_rewards_is_evaluated_by_its_raw_ones(
    digits: Path, tmp_path: Path, deferred: bool
) -> None:
    """The seeds' defer-swap script, whose hook asks the judge itself."""
    go(
        small(
            digits,
            tmp_path,
            rm_type="dummy",
            defer_reward_to_post_process=deferred,
            custom_reward_post_process_path=f"{OWN}:by_group",
            eval_prompt_data=(f"sums={sums(tmp_path)}",),
            n_samples_per_eval_prompt=2,
        )
    )
    samples = pq.read_table(tmp_path / "run" / "samples" / "step-000000.parquet").to_pylist()
    for group in {row["group"] for row in samples}:
        assert sum(row["reward"] for row in samples if row["group"] == group) == pytest.approx(0.0)
    answers = pq.read_table(eval_path(tmp_path / "run", "sums", -1)).to_pylist()
    assert [row["reward"] for row in answers] == [len(row["response"]) for row in answers]


def test_evaluation_may_count_another_entry_of_the_reward(digits: Path, tmp_path: Path) -> None:
    go(
        small(
            digits,
            tmp_path,
            custom_rm_path=f"{OWN}:table",
            reward_key="score",
            eval_reward_key="first",
            eval_prompt_data=(f"sums={sums(tmp_path)}",),
        )
    )
    answers = pq.read_table(eval_path(tmp_path / "run", "sums", -1)).to_pylist()
    assert [row["reward"] for row in answers] == [float(row["response"].startswith("1")) for row in answers]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rm_type": "dummy"}, "--defer-reward-to-post-process, or a hook"),
        (
            {
                "rm_type": "dummy",
                "custom_reward_post_process_path": f"{OWN}:doubled",
                "dynamic_sampling_filter": "dead_groups",
            },
            "before the hook",
        ),
        ({"custom_rm_path": f"{OWN}:length", "monitor_interval": 1, "label_key": None}, "--monitor-judge"),
    ],
)
def test_what_could_have_no_effect_is_refused(digits: Path, tmp_path: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        go(small(digits, tmp_path, **more))


def test_an_alarm_stops_the_run_with_its_figures_written_and_it_goes_on_with_another_threshold(
    digits: Path, tmp_path: Path
) -> None:
    """Every answer is accepted, and hardly any is right: the policy has learned nothing but to please."""
    watch = {"monitor_interval": 2, "monitor_stop": True, "monitor_max_gap_growth": 0.2}
    said: dict[str, Any] = {"custom_rm_path": f"{OWN}:generous", "num_rollout": 6, "tracker": "none"}
    with pytest.raises(TrainingStopped, match=r"please the judge.*--run-dir"):
        go(small(digits, tmp_path, **said, **watch))
    lines = read_lines(tmp_path / "run" / NAME)
    stopped = lines[-1]
    assert stopped["monitor/alarms"] == 1.0
    assert stopped["step"] < 5
    assert (tmp_path / "run" / "samples" / f"step-{stopped['step']:06d}.parquet").exists()
    more = go(small(digits, tmp_path, **said, **watch | {"monitor_max_gap_growth": 2.0}))
    assert [line["step"] for line in more] == list(range(6))
    assert more[: len(lines)] == lines


def test_a_run_that_was_killed_before_its_first_checkpoint_has_one_baseline(digits: Path, tmp_path: Path) -> None:
    own = {"custom_rm_path": f"{OWN}:length", "eval_prompt_data": (f"sums={sums(tmp_path)}",)}
    first = go(small(digits, tmp_path, **own))
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        path.rename(tmp_path / path.name)
    second = go(small(digits, tmp_path, **own))
    assert [line["step"] for line in second] == [-1, 0, 1]
    assert second[0] == first[0], "it is not measured twice"


def test_a_call_that_has_had_its_time_ends_after_a_step_and_the_last_one_leaves_the_model(
    digits: Path, tmp_path: Path
) -> None:
    own = {"custom_rm_path": f"{OWN}:table", "reward_key": "score", "export_model": True}
    result = RunResult(run_dir=tmp_path / "run")
    asyncio.run(train(small(digits, tmp_path, **own, stop_after_minutes=1e-6), result))
    assert (result.steps, result.done) == (1, False)
    assert not (tmp_path / "run/model").exists()
    asyncio.run(train(small(digits, tmp_path, **own), result))
    assert (result.steps, result.done) == (2, True)
    assert (tmp_path / "run/model/model.safetensors").exists()


def test_a_run_that_has_had_its_minutes_is_done(digits: Path, tmp_path: Path) -> None:
    own = {"custom_rm_path": f"{OWN}:table", "reward_key": "score", "minutes": 1e-6}
    for _ in range(2):
        result = RunResult(run_dir=tmp_path / "run")
        asyncio.run(train(small(digits, tmp_path, **own, num_rollout=50), result))
        assert (result.steps, result.done) == (1, True)
