"""What can be wrong with a training run, through the command itself: said early and clearly, and nothing is lost."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.rl.tiny import save_tiny

from assay.cli.main import main
from assay.core.lock import Lock
from assay.tracking.lines import NAME, read_lines

REWARDS = '''
import math
import os
import signal
import threading
import time
from pathlib import Path


def _broken():
    """Mended by writing the word into a file."""
    word = Path(__file__).with_name("broken.txt")
    return word.read_text() if word.exists() else ""


def raises(args, sample):
    if _broken():
        raise ZeroDivisionError("no digits")
    return sample.response.count("1")


def number(args, sample):
    return {"none": None, "nan": math.nan, "": float(sample.response.count("1"))}[_broken()]


def group(args, samples):
    rewards = [float(sample.response.count("1")) for sample in samples]
    return rewards[1:] if _broken() else rewards


def equal(args, sample):
    return 1.0


_one = threading.Lock()


def leave(args, sample):
    """Somebody presses Ctrl-C while this answer is judged, once or in haste."""
    with _one:
        times = {"": 0, "leave": 1, "leave at once": 2}[_broken()]
        Path(__file__).with_name("broken.txt").write_text("")
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    return sample.response.count("1")
'''


@dataclass
class Told:
    """How the command ended, and what it said."""

    code: int
    out: str
    error: str


@dataclass
class Stage:
    """A folder with a policy, prompts and reward functions, in which the command is run."""

    folder: Path
    policy: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def train(self, *flags: str, **said: object) -> Told:
        """``assay train`` with these flags over those of a small run."""
        own: dict[str, object] = {
            "hf_checkpoint": self.policy,
            "prompt_data": self.folder / "prompts.jsonl",
            "run_dir": self.run,
            "rollout_batch_size": 2,
            "n_samples_per_prompt": 4,
            "rollout_max_response_len": 4,
            "num_rollout": 2,
            "device": "cpu",
            "tracker": "none",
            "rollout_engine_options": '{"threads": 1}',
        }
        words = [word for name, value in (own | said).items() for word in (f"--{name.replace('_', '-')}", str(value))]
        self.patch.setattr(sys, "argv", ["assay", "train", *words, *flags])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, error = self.capture.readouterr()
        return Told(code, out, error)

    def reward(self, name: str) -> str:
        path = self.folder / "rewards.py"
        if not path.exists():
            path.write_text(REWARDS)
        return f"{path}:{name}"

    def broken(self, how: str) -> None:
        (self.folder / "broken.txt").write_text(how)

    def lines(self) -> list[dict[str, Any]]:
        return read_lines(self.run / NAME)

    def steps(self) -> list[int]:
        return [line["step"] for line in self.lines()]

    def checkpoints(self) -> list[str]:
        return sorted(path.name for path in (self.run / "checkpoints").glob("step-*"))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def stage(policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Stage:
    rows = [{"prompt": f"{number}+1=", "label": str(number + 1)} for number in range(4)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Stage(tmp_path, policy, capsys, monkeypatch)


def test_resources_that_do_not_add_up(stage: Stage) -> None:
    told = stage.train(
        "--colocate",
        resource='{"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 3]}',
        genrm_model_path=stage.policy,
        cluster="1x8xCPU",
        rm_type="dapo-genrm",
    )
    assert told.code == 2
    assert "4 + 3 = 7, not 8" in told.error
    assert "Nearest legal: split with actor 8" in told.error
    assert not stage.run.exists(), "it is said before anything is written"


def test_a_field_that_the_data_lack(stage: Stage) -> None:
    told = stage.train(input_key="question", rm_type="math")
    assert told.code == 2
    assert f"--prompt-data '{stage.folder / 'prompts.jsonl'}', line 1: the field 'question' (--input-key)" in told.error
    assert "is not there; there are prompt, label; did you mean --input-key prompt?" in told.error
    assert not stage.run.exists(), "it is said before anything is written"
    told = stage.train(label_key="gold", rm_type="math")
    assert told.code == 2
    assert f"--prompt-data '{stage.folder / 'prompts.jsonl'}', line 1: item 'prompt 0' has no reference" in told.error
    assert "Its label: the field 'gold' (--label-key) is not there" in told.error
    assert "did you mean --label-key label?" in told.error
    assert stage.train(rm_type="math", num_rollout=1).code == 0, "a run that never began may be begun otherwise"


def test_data_that_are_not_there(stage: Stage) -> None:
    told = stage.train(prompt_data=stage.folder / "nowhere.jsonl", rm_type="math")
    assert (told.code, "nowhere.jsonl" in told.error) == (2, True)


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("raises", "yes", "raised ZeroDivisionError: no digits (rewards.py:18)"),
        ("number", "none", "returned no reward (None)"),
        ("number", "nan", "it is nan, which is no reward"),
    ],
)
def test_a_reward_function_that_gives_no_reward(stage: Stage, name: str, how: str, said: str) -> None:
    stage.broken(how)
    flags = {"custom_rm_path": stage.reward(name), "max_dead_steps": 0}
    told = stage.train(**flags)
    assert told.code == 5
    assert said in told.error
    assert "--max-judge-failure-rate is 0.2" in told.error
    # The answers that it could not judge are there to be looked at, and the run goes on once it is mended.
    answers = pq.read_table(stage.run / "samples" / "step-000000.parquet").to_pylist()
    assert len(answers) == 8
    assert all(said in row["failure_detail"] for row in answers)
    assert stage.checkpoints()
    stage.broken("")
    assert stage.train(**flags).code == 0
    assert stage.steps() == [0, 1]


def test_a_reward_function_that_returns_too_few(stage: Stage) -> None:
    stage.broken("yes")
    told = stage.train("--group-rm", custom_rm_path=stage.reward("group"), max_dead_steps=0)
    assert told.code == 2
    assert "rewards.py:group returned 3 rewards for 4 samples: return one for each, in order" in told.error
    stage.broken("")
    assert stage.train("--group-rm", custom_rm_path=stage.reward("group"), max_dead_steps=0).code == 0
    assert stage.steps() == [0, 1]


def test_a_prompt_longer_than_the_context(stage: Stage) -> None:
    with (stage.folder / "prompts.jsonl").open("a") as file:
        file.write(json.dumps({"prompt": "1+" * 40, "label": "1"}) + "\n")
    told = stage.train(custom_rm_path=stage.reward("equal"))
    assert told.code == 2
    assert "prompts.jsonl', line 5: the prompt has 80 tokens, and the policy's context holds 64" in told.error
    assert "--rollout-max-prompt-len" in told.error
    longer = stage.folder / "longer.jsonl"
    longer.write_text(json.dumps({"prompt": "1+" * 40, "label": "1"}) + "\n")
    flags = {"custom_rm_path": stage.reward("raises"), "rollout_max_prompt_len": 20, "max_dead_steps": 0}
    told = stage.train(**flags, eval_prompt_data=f"held={longer}")
    assert (told.code, f"--eval-prompt-data held '{longer}', line 1: the prompt has 80" in told.error) == (2, True)
    assert stage.train(**flags).code == 0


def test_rewards_that_are_all_equal_for_ten_steps(stage: Stage) -> None:
    flags = {"custom_rm_path": stage.reward("equal"), "num_rollout": 12}
    told = stage.train(**flags)
    assert told.code == 5
    assert "in the last 10 steps every group had equal rewards" in told.error
    assert "--max-dead-steps" in told.error
    assert stage.steps() == list(range(9)), "the tenth was not made"
    assert "9" in told.out
    assert stage.train(**flags, max_dead_steps=0).code == 0
    assert stage.steps() == list(range(12))


@contextmanager
def files_of_at_most(size: int) -> Generator[None]:
    """A disk on which larger files find no room, as far as a process without rights can have one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_when_a_checkpoint_is_saved(stage: Stage) -> None:
    flags = {"custom_rm_path": stage.reward("raises"), "save_interval": 1, "max_dead_steps": 0}
    assert stage.train(**flags, num_rollout=1).code == 0
    (before,) = stage.checkpoints()
    with files_of_at_most(32 << 10):
        told = stage.train(**flags, num_rollout=3)
    assert told.code == 4
    assert "nothing was saved" in told.error
    assert "what was saved before is untouched" in told.error
    assert stage.checkpoints() == [before]
    assert stage.steps()[0] == 0, "what was measured can be read"
    first = stage.lines()[0]
    assert stage.train(**flags, num_rollout=3).code == 0
    assert stage.steps() == [0, 1, 2]
    assert stage.lines()[0] == first


def test_a_judge_that_cannot_be_reached(stage: Stage) -> None:
    told = stage.train(rm_type="dapo-genrm", genrm_url="http://127.0.0.1:9/genrm")
    assert told.code == 3
    assert "no judge service at http://127.0.0.1:9/genrm" in told.error
    assert "assay serve" in told.error
    assert not (stage.run / NAME).exists()


@pytest.mark.parametrize("folder", ["run", "saved"])
def test_a_folder_that_another_run_writes(stage: Stage, folder: str) -> None:
    flags = {"custom_rm_path": stage.reward("raises"), "max_dead_steps": 0, "save": stage.folder / "saved"}
    with Lock(stage.folder / folder / ".lock", "it", "wait"):
        told = stage.train(**flags)
    assert told.code == 2
    assert f"the folder '{stage.folder / folder}' is being written by another run (process " in told.error
    assert f"or name another --{'run-dir' if folder == 'run' else 'save'}" in told.error
    assert not (stage.run / "config.json").exists()
    assert stage.train(**flags).code == 0
    assert not list(stage.folder.rglob(".lock*"))


def test_ctrl_c(stage: Stage) -> None:
    """After the step that is made, saved; before there is one, at once."""
    flags = {"custom_rm_path": stage.reward("leave"), "max_dead_steps": 0, "num_rollout": 50}
    stage.broken("leave")
    told = stage.train(**flags)
    assert told.code == 130
    assert "stopping after this step, which will be saved; once more stops at once" in told.out
    assert "stopped; 1 of 50 steps are saved, the same command goes on after them" in told.out
    assert (stage.steps(), stage.checkpoints()) == ([0], ["step-00000001"])
    stage.broken("leave at once")
    told = stage.train(**flags)
    assert told.code == 130
    assert "stopped; 1 of 50 steps are saved" in told.out
    assert not list(stage.folder.rglob(".lock"))
    assert stage.train(**flags | {"num_rollout": 3}).code == 0
    assert stage.steps() == [0, 1, 2]
    stage.broken("leave at once")
    told = stage.train(**flags | {"run_dir": stage.folder / "other"})
    assert told.code == 130
    assert "stopped; no step is saved yet, the same command begins anew" in told.out


def test_a_reward_that_nobody_gives(stage: Stage) -> None:
    told = stage.train(rm_type="dummy")
    assert (told.code, "--defer-reward-to-post-process" in told.error) == (2, True)
    told = stage.train()
    assert (told.code, "nothing says what an answer earns" in told.error) == (2, True)


def test_a_tracker_that_is_not_installed(stage: Stage) -> None:
    def missing(name: str) -> None: ...

    stage.patch.setattr("assay.tracking.trackers.find_spec", missing)
    flags = {"custom_rm_path": stage.reward("raises"), "max_dead_steps": 0}
    told = stage.train(**flags, tracker="wandb")
    assert (told.code, "tracker 'wandb' is not installed: pip install wandb" in told.error) == (2, True)
    # The one that nobody asked for is missed in one line; the run is not about it.
    told = stage.train(**flags, tracker="auto")
    assert (told.code, told.error.count("trackio is not installed")) == (0, 1)
    assert f"every number is in {stage.run / NAME}" in told.error
    assert stage.steps() == [0, 1]
