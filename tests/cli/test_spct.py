"""``assay spct``: which commands it runs, that it goes on where it stopped, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.cli import spct_run
from assay.cli.spct import SpctFlags
from assay.cli.spct_process import Ended, run_command
from assay.cli.spct_run import OUT_OF_TIME, run_spct
from assay.core.errors import InputError, StartError
from assay.spct.pipeline.mark import read_mark

ROOT = Path(__file__).parents[2]
TINY = ROOT / "recipes/spct/tiny-cpu.toml"


class Commands:
    """Stands for the processes: notes each command and makes what it would make."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.codes: dict[str, int] = {}
        self.unfinished: set[str] = set()
        self.written = "{}\n"
        monkeypatch.setattr(spct_run, "run_command", self.run)
        monkeypatch.setattr(spct_run, "report_run", lambda *_: None)

    async def run(self, words: Sequence[str], log: Path, most_s: float | None) -> Ended:
        return self.ended(words, log)

    def ended(self, words: Sequence[str], log: Path) -> Ended:
        self.ran.append(tuple(words))
        log.write_text("$ assay\nit said this\nassay: the command ended\n")
        code = self.codes.get(words[0], 0)
        if code in (0, 1) and words[0] not in self.unfinished:
            self._make(words)
        return Ended(code=code, seconds=2.0, stopped=False)

    def verbs(self) -> list[str]:
        return [words[0] for words in self.ran]

    def _make(self, words: Sequence[str]) -> None:
        if "-c" in words:
            run = Path(json.loads(Path(words[words.index("-c") + 1]).read_text())["run_dir"])
            (run / "model").mkdir(parents=True)
            return
        out = Path(next(words[at + 1] for at, word in enumerate(words) if word in ("-o", "--out")))
        for path in [out] if out.suffix else [out / name for name in ("sft.jsonl", "rl.jsonl", "report.json")]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.written)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(monkeypatch)


def flags(folder: Path, **more: Any) -> SpctFlags:
    return SpctFlags(**{"recipe": TINY, "run_dir": folder / "run"} | more)


def test_all_stages_once_and_then_none(commands: Commands, tmp_path: Path) -> None:
    run_spct(flags(tmp_path))
    assert commands.verbs() == [
        *["data"] * 7, "sft", "data", "rft", "rft", "sft", "train", "judge", "rm", *["judge"] * 8, *["judge"] * 4,
    ]  # fmt: skip
    mark = read_mark(tmp_path / "run/rl")
    assert mark is not None
    assert (mark.finished, mark.seconds, len(mark.lines)) == (1, 2.0, 1)
    told = json.loads((tmp_path / "run/rl/train.json").read_text())
    assert told["prompt_data"] == str(tmp_path / "run/rft/out/rl.jsonl")
    assert told["hf_checkpoint"] == str(tmp_path / "run/sft/run/model")
    before = len(commands.ran)
    run_spct(flags(tmp_path))
    assert len(commands.ran) == before


def test_it_goes_on_behind_the_last_command_that_ended(commands: Commands, tmp_path: Path) -> None:
    commands.codes["sft"] = 5
    with pytest.raises(Exception, match=r"cold: sft ended with exit code 5.*\n.*\nit said this"):
        run_spct(flags(tmp_path))
    assert commands.verbs() == [*["data"] * 7, "sft"]
    commands.codes.clear()
    commands.ran.clear()
    run_spct(flags(tmp_path, only=("cold",)))
    assert commands.verbs() == ["sft"], "its texts are there"


def test_the_time_of_a_call_is_passed_on_and_ends_it(
    commands: Commands, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.unfinished.add("sft")
    with pytest.raises(SystemExit) as ended:
        run_spct(flags(tmp_path, stop_after_minutes=5))
    assert ended.value.code == OUT_OF_TIME
    last = commands.ran[-1]
    assert last[0] == "sft"
    assert 3.8 < float(last[last.index("--stop-after-minutes") + 1]) <= 4.0
    assert "the same command goes on" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run_spct(flags(tmp_path, stop_after_minutes=0.1))
    assert commands.ran[-1] is last, "nothing is begun for which there is no time"
    commands.unfinished.clear()
    run_spct(flags(tmp_path, only=("cold",)))
    mark = read_mark(tmp_path / "run/cold")
    assert mark is not None
    assert mark.made is not None


def test_skipped_input_is_no_failure_and_nothing_kept_is_one(commands: Commands, tmp_path: Path) -> None:
    commands.codes |= {"judge": 1, "rft": 1}
    run_spct(flags(tmp_path))
    commands.written = ""
    with pytest.raises(Exception, match="rft: rft ended with exit code 1"):
        run_spct(flags(tmp_path, redo=("rft",)))


def test_a_stage_whose_input_is_not_there_is_refused(commands: Commands, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stage 'items' is not done, and it is needed"):
        run_spct(flags(tmp_path, only=("rft",)))
    assert not commands.ran


def test_other_settings_are_refused_by_name_and_redone_when_told(commands: Commands, tmp_path: Path) -> None:
    run_spct(flags(tmp_path))
    other = tmp_path / "other.toml"
    other.write_text(TINY.read_text().replace("num_rollout = 1", "num_rollout = 2"))
    commands.ran.clear()
    with pytest.raises(InputError, match=r"begun with rl\.num_rollout=1 instead of 2"):
        run_spct(flags(tmp_path, recipe=other))
    assert not commands.ran
    run_spct(flags(tmp_path, recipe=other, redo=("rl",)))
    assert commands.verbs() == ["train", "judge", "rm", "judge", "judge", *["judge"] * 4]


def test_an_ablation_runs_only_what_it_does_not_share(commands: Commands, tmp_path: Path) -> None:
    run_spct(flags(tmp_path))
    commands.ran.clear()
    run_spct(flags(tmp_path, ablation=("no-hint",)))
    assert commands.verbs() == ["rft", "sft", "judge", "judge"]
    assert "--no-hint" in commands.ran[0]
    commands.ran.clear()
    run_spct(flags(tmp_path, ablation=("all",)))
    assert commands.verbs() == ["train", "judge", "judge"]
    told = json.loads((tmp_path / "run/ablations/no-rft/rl/train.json").read_text())
    assert told["hf_checkpoint"] == str(tmp_path / "run/cold/run/model")


def test_a_command_that_makes_nothing_is_an_error(commands: Commands, tmp_path: Path) -> None:
    commands.unfinished.add("data")
    with pytest.raises(StartError, match="ended well and made no"):
        run_spct(flags(tmp_path))


def test_the_plan_runs_nothing(commands: Commands, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_spct(flags(tmp_path, plan=True))
    told = capsys.readouterr().out
    assert "assay train -c" in told
    assert "evaluate-meta" in told
    assert not commands.ran
    assert not (tmp_path / "run").exists()


def test_a_recipe_that_is_wrong_names_what_is(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[rl]\nlearning_rate = 1\n")
    with pytest.raises(InputError, match="rl: learning_rate: there is no such option"):
        run_spct(flags(tmp_path, recipe=path))
    path.write_text('principles = "absent.toml"\n')
    with pytest.raises(InputError, match=r"principles 'absent\.toml': there is no such file"):
        run_spct(flags(tmp_path, recipe=path))


async def _run(words: Sequence[str], log: Path, most_s: float | None = None) -> Ended:
    return await run_command(words, log, most_s)


def test_a_command_is_told_to_end_when_its_time_is_over(tmp_path: Path) -> None:
    begin = time.monotonic()
    ended = asyncio.run(_run(("parse", "/dev/zero"), tmp_path / "a.log", 1.0))
    assert ended.stopped
    assert time.monotonic() - begin < 15
    done = asyncio.run(_run(("--version",), tmp_path / "b.log"))
    assert (done.code, done.stopped) == (0, False)
    assert "$ assay --version" in (tmp_path / "b.log").read_text()
    assert asyncio.run(_run(("judge", "absent.jsonl"), tmp_path / "c.log")).code == 2


def small(folder: Path) -> Path:
    """The tiny recipe on a model of a few thousand weights."""
    code = (
        "import string, sys, pathlib; from assay.training.small import save_small; "
        "save_small(pathlib.Path(sys.argv[1]), string.printable, seed=0, hidden=32, layers=1, context=8192)"
    )
    subprocess.run([sys.executable, "-c", code, str(folder / "base")], check=True)
    path = folder / "small.toml"
    path.write_text(TINY.read_text().replace('"smollm2-135m-instruct"', json.dumps(str(folder / "base"))))
    return path


def assay(recipe: Path, run: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay", "spct", "-c", str(recipe), "--run-dir", str(run), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def killed_within(recipe: Path, run: Path, stage: str, command: str) -> None:
    """SIGKILL as soon as a command of a stage has a log."""
    running = assay(recipe, run)
    while running.poll() is None and not (run / stage / f"{command}.pid").exists():
        time.sleep(0.02)
    assert running.poll() is None, running.communicate()[0]
    time.sleep(0.5)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_whole_run_that_is_killed_in_every_training_ends_with_a_report(tmp_path: Path) -> None:
    recipe, run = small(tmp_path), tmp_path / "run"
    for stage, command in (("items", "held"), ("cold", "sft"), ("samples", "rft"), ("rl", "train"), ("meta", "rm")):
        killed_within(recipe, run, stage, command)
    last = assay(recipe, run)
    told = last.communicate()[0]
    assert last.returncode == 0, told
    report = json.loads((run / "report.json").read_text())
    assert [one["model"] for one in report["models"]] == ["base", "cold", "rft", "rl"]
    assert all("meta@4" in one["series"] for one in report["models"])
    assert all(one["done"] for one in report["stages"])
    more = assay(recipe, run, "--ablation", "no-hint")
    told = more.communicate()[0]
    assert more.returncode == 0, told
    report = json.loads((run / "report.json").read_text())
    assert [one["name"] for one in report["ablations"]] == ["no-hint"]
    assert "RFT without hinted samples" in (run / "report.md").read_text()
