"""Ctrl-C and SIGTERM to real processes in the middle of a step: what is saved, the exit code, and what goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.rl.tiny import save_tiny
from tests.training.words import save_words

from assay.tracking.lines import NAME, read_lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOKEN = "ASSAY_SIGNAL_TEST"
"""A variable that all processes of a run inherit, so that those that outlive it can be found."""
SLOW = "ASSAY_TEST_SLOW_S"
REWARD = f'''
import os
import time


given, takes = 0, float(os.environ.get("{SLOW}", "0"))


def slow(args, sample):
    """One after the other; behind those of the first step each waits until it may begin, and takes its time."""
    global given
    given += 1
    if takes and given > 8:
        while not os.path.exists("second-step"):
            time.sleep(0.01)
        open("judging", "w").close()
        time.sleep(takes)
    return float(sample.response.count("1"))
'''
MARKED = f'''
import os
import sys
import time

from assay.cli.main import main
from assay.training.trainer import Trainer

step, made = Trainer.step, 0


def slow(self, *given, **named):
    global made
    made += 1
    if made > 2:
        open("judging", "w").close()
        until = time.monotonic() + float(os.environ.get("{SLOW}", "0"))
        while time.monotonic() < until:
            time.sleep(0.01)
    return step(self, *given, **named)


Trainer.step = slow
main()
'''
"""``assay``, but its updates from the third on take their time."""


class Running:
    """A command as a process of its own, in ``folder``."""

    def __init__(self, folder: Path, command: list[str], slow_s: float) -> None:
        environment = {**os.environ, TOKEN: str(folder), SLOW: str(slow_s), "OMP_NUM_THREADS": "1"}
        self.token = f"{TOKEN}={folder}".encode()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell's background process ignores it, and so would this one.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def wait_for(self, ready: Callable[[], bool], within_s: float = 300) -> None:
        until = time.monotonic() + within_s
        while not ready():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until, "it never came to the middle of a step"
            time.sleep(0.02)

    def end(self, within_s: float = 120) -> tuple[int, str]:
        """Exit code and what was said, when it has ended and with it all that it started."""
        out, error = self.process.communicate(timeout=within_s)
        until = time.monotonic() + 30
        while (left := list(self.left())) and time.monotonic() < until:
            time.sleep(0.1)
        assert not left
        assert "Traceback" not in out + error, out + error
        return self.process.returncode, out + error

    def left(self) -> Iterator[str]:
        """Processes of the command that live."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.token in (folder / "environ").read_bytes().split(b"\0"):
                    yield (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue


def steps(run: Path) -> list[int]:
    return [line["step"] for line in read_lines(run / NAME) if line["step"] >= 0] if (run / NAME).exists() else []


def train(folder: Path, slow_s: float) -> Running:
    """Four steps; a reward takes ``slow_s`` seconds from the second one on."""
    if not (folder / "policy").exists():
        save_tiny(folder / "policy")
        (folder / "rewards.py").write_text(REWARD)
        rows = [{"prompt": f"{number}+1=", "label": str(number + 1)} for number in range(4)]
        (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = {
        "hf_checkpoint": "policy", "prompt_data": "prompts.jsonl", "run_dir": "run", "rollout_batch_size": 2,
        "n_samples_per_prompt": 4, "rollout_max_response_len": 4, "num_rollout": 4, "device": "cpu", "tracker": "none",
        "rollout_engine_options": '{"threads": 1}', "custom_rm_path": "rewards.py:slow", "max_dead_steps": 0,
        "reward_threads": 1,
    }  # fmt: skip
    words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return Running(folder, [sys.executable, "-m", "assay", "train", *words], slow_s)


def fit(verb: str, folder: Path, slow_s: float) -> Running:
    """Six updates; from the third one on they take ``slow_s`` seconds."""
    if not (folder / "model").exists():
        save_words(folder / "model", "ab")
        (folder / "marked.py").write_text(MARKED)
        rows = [{"prompt": f"{'a ' * (place % 5 + 1)}", "completion": "b", "chosen": "b", "rejected": "a"}
                for place in range(48)]  # fmt: skip
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ["--data", "rows.jsonl", "--hf-checkpoint", "model", "--run-dir", "run", "--global-batch-size", "8",
             "--device", "cpu", "--tracker", "none", *(["--kind", "bt"] if verb == "rm" else [])]  # fmt: skip
    return Running(folder, [sys.executable, "marked.py", verb, *flags], slow_s)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_train_ends_after_the_step_and_goes_on(tmp_path: Path, number: int, code: int) -> None:
    running = train(tmp_path, 0.5)
    running.wait_for(lambda: steps(tmp_path / "run") == [0])
    (tmp_path / "second-step").touch()
    running.wait_for((tmp_path / "judging").exists)
    before = len(steps(tmp_path / "run"))
    running.process.send_signal(number)
    ended, told = running.end()
    made = steps(tmp_path / "run")
    assert ended == code
    assert made == list(range(before + 1)), "the step that was being made, and none after it"
    assert "stopping after this step, which will be saved" in told
    assert f"stopped; {before + 1} of 4 steps are saved, the same command goes on after them" in told
    ended, told = train(tmp_path, 0).end()
    assert (ended, steps(tmp_path / "run")) == (0, [0, 1, 2, 3])


def test_a_second_signal_ends_train_at_once(tmp_path: Path) -> None:
    running = train(tmp_path, 300)
    running.wait_for(lambda: steps(tmp_path / "run") == [0])
    (tmp_path / "second-step").touch()
    running.wait_for((tmp_path / "judging").exists)
    running.process.send_signal(signal.SIGINT)
    time.sleep(1)
    running.process.send_signal(signal.SIGINT)
    ended, told = running.end(60)
    assert ended == 130
    assert "stopping after this step" in told
    assert train(tmp_path, 0).end()[0] == 0
    assert steps(tmp_path / "run") == [0, 1, 2, 3]


@pytest.mark.parametrize("verb", ["sft", "rm"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_fit_ends_after_the_update_and_goes_on(tmp_path: Path, verb: str, number: int, code: int) -> None:
    running = fit(verb, tmp_path, 2)
    running.wait_for((tmp_path / "judging").exists)
    running.process.send_signal(number)
    ended, told = running.end()
    assert (ended, steps(tmp_path / "run")) == (code, [0, 1, 2])
    assert "stopping after this update, which will be saved" in told
    assert "stopped; 3 of 6 updates are saved, the same command goes on after them" in told
    ended, told = fit(verb, tmp_path, 0).end()
    assert (ended, steps(tmp_path / "run")) == (0, list(range(6)))


def test_a_second_signal_ends_a_fit_at_once(tmp_path: Path) -> None:
    running = fit("sft", tmp_path, 300)
    running.wait_for((tmp_path / "judging").exists)
    running.process.send_signal(signal.SIGTERM)
    time.sleep(1)
    running.process.send_signal(signal.SIGTERM)
    ended, told = running.end(60)
    assert (ended, steps(tmp_path / "run")) == (143, [0, 1])
    assert "stopped; no update is saved yet, the same command begins anew" in told
    assert fit("sft", tmp_path, 0).end()[0] == 0
