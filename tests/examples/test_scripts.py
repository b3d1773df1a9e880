"""The run scripts come to the modes and GPU ranges that their names and their README say."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.placement import place
from assay.placement.cluster import parse_cluster

from .commands import EXAMPLE, ROOT, SCRIPTS, arguments, planned, ranges, trained

ALL_8, ALL_16 = (0, 7), (0, 15)
EXPECTED = {
    "run-qwen3-4B-8xgpu-colocated.sh": ("split", {"actor": ALL_8, "rollout": (0, 3), "__default__": (4, 7)}),
    "run-qwen3-4B-8xgpu-async.sh": (
        "fully-async",
        {"actor": (0, 1), "rollout": (2, 4), "reference": (5, 5), "actor_fwd": (6, 6), "__default__": (7, 7)},
    ),
    "run-qwen3-4B-8xgpu-dual-genrm-split.sh": (
        "split",
        {"actor": ALL_8, "rollout": (0, 3), "quality": (4, 5), "safety": (6, 7)},
    ),
    "run-qwen35-35B-A3B-16xgpu-genrm-397B-split.sh": (
        "split",
        {"actor": ALL_16, "rollout": (0, 7), "__default__": (8, 15)},
    ),
    "run-qwen35-35B-A3B-16xgpu-genrm-397B-defer.sh": (
        "defer-swap",
        {"actor": ALL_16, "rollout": ALL_16, "__default__": ALL_16},
    ),
    "run-qwen3-4B-8xgpu-agentic.sh": (
        "split",
        {
            "actor": ALL_8,
            "rollout": (0, 3),
            "planner_judge": (4, 4),
            "tool_call_judge": (5, 5),
            "final_answer_judge": (6, 7),
        },
    ),
}
HOOKS = {
    "run-qwen3-4B-8xgpu-dual-genrm-split.sh": ("custom_rm_path", "reward_dual_genrm_quality_safety.py:reward_func"),
    "run-qwen35-35B-A3B-16xgpu-genrm-397B-defer.sh": (
        "custom_reward_post_process_path",
        "post_process_genrm_swap.py:post_process",
    ),
    "run-qwen3-4B-8xgpu-agentic.sh": ("custom_steps_path", "agentic_steps.py:steps"),
}


def test_every_script_is_expected() -> None:
    assert {script.name for script in SCRIPTS} == EXPECTED.keys()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_its_mode_and_its_gpus(script: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    verb, *said = arguments(script, tmp_path)
    assert verb == "train"
    config = trained(monkeypatch, *said)
    mode, gpus = EXPECTED[script.name]
    assert config.cluster is not None
    plan = place(config, parse_cluster(config.cluster))
    assert (plan.mode, ranges(plan), plan.warnings) == (mode, gpus, ())
    assert plan.inline_reward == (mode != "defer-swap")
    # What a user does with it: the settings as JSON, into the planner.
    dumped = tmp_path / "dumped.json"
    dumped.write_text(config.model_dump_json())
    assert planned(monkeypatch, "-c", str(dumped)).claims == plan.claims


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_trains_as_the_published_ones_do(
    script: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = trained(monkeypatch, *arguments(script, tmp_path)[1:])
    told = ("advantage_estimator", "eps_clip", "eps_clip_high", "use_tis", "lr", "weight_decay", "kl_loss_type")
    assert tuple(getattr(config, name) for name in told) == ("grpo", 0.2, 0.28, True, 1e-6, 0.1, "low_var_kl")
    assert (config.use_kl_loss, config.kl_loss_coef, config.n_samples_per_prompt) == (True, 0.0, 8)
    flag, hook = HOOKS.get(script.name, (None, None))
    if flag is not None and hook is not None:
        assert getattr(config, flag) == str(EXAMPLE / hook)
        assert (EXAMPLE / hook.partition(":")[0]).is_file()


def test_the_last_flag_wins_and_folders_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = arguments(EXAMPLE / "run-qwen3-4B-8xgpu-colocated.sh", tmp_path, "--num-rollout", "2", "--lr", "2e-6")
    config = trained(monkeypatch, *said[1:])
    assert (config.num_rollout, config.lr, config.hf_checkpoint) == (2, 2e-6, "exps/Qwen3-4B")


def test_what_is_no_legal_layout_is_refused_with_the_three_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = '{"actor": [1, 8], "rollout": [1, 5], "genrm": [1, 4]}'
    said = arguments(EXAMPLE / "run-qwen3-4B-8xgpu-colocated.sh", tmp_path, "--resource", wrong)
    dumped = tmp_path / "dumped.json"
    dumped.write_text(trained(monkeypatch, *said[1:]).model_dump_json())
    with pytest.raises(json.JSONDecodeError):
        planned(monkeypatch, "-c", str(dumped))
    assert "actor 8, rollout 5, genrm 4 is no legal layout" in capsys.readouterr().err


def test_the_readme_names_every_file() -> None:
    page = (EXAMPLE / "README.md").read_text()
    for path in EXAMPLE.iterdir():
        if path.name not in ("README.md", "__pycache__"):
            assert path.name in page, f"the README of the example does not say what {path.name} is"


def test_the_folders_of_the_readme_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (EXAMPLE / "README.md").read_text()):
        assert (EXAMPLE / target).exists(), target
    assert (ROOT / "recipes").is_dir()


@pytest.mark.slow
def test_the_numbers_of_the_readme_are_those_of_the_planner(tmp_path: Path) -> None:
    """Its commands, as bash runs them one after the other, print every line that it quotes below each."""
    blocks = re.findall(r"```(bash|text)\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.DOTALL)
    assay = tmp_path / "assay"
    assay.write_text(f'#!/bin/sh\nexec {sys.executable} -m assay "$@"\n')
    assay.chmod(0o755)
    pairs = itertools.pairwise(blocks)
    quoted = [(command, text) for (kind, command), (after, text) in pairs if (kind, after) == ("bash", "text")]
    told = [command for kind, command in blocks if kind == "bash" and "() {" in command]
    definitions = "".join(re.findall(r"^EX=.*\n|^\w+\(\) \{.*?\}\n", "".join(told), re.MULTILINE | re.DOTALL))
    assert len(quoted) == 6
    for command, text in quoted:
        calls = [line for line in command.splitlines() if re.match(r"(plan|small|big) ", line)]
        script = definitions + "\n".join(calls).replace("--gantt runs/", f"--gantt {tmp_path}/")
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "COLUMNS": "110"}
        done = subprocess.run(
            ["bash", "-euc", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110
        )
        assert done.returncode == 0, done.stderr
        printed = {" ".join(line.split()) for line in done.stdout.splitlines()}
        for line in text.splitlines():
            assert " ".join(line.split()) in printed, f"{calls}: {line}"
    assert (tmp_path / "step.png").is_file()
