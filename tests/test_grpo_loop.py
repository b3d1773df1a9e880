"""The readable loop in ``loops/``: it runs, with what is in this repository."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from assay.rl.demo import TRAIN_FILE, DemoTraining, warm_policy, write_task

PATH = Path(__file__).parents[1] / "loops" / "grpo_loop.py"


@pytest.fixture(scope="module")
def loop() -> ModuleType:
    spec = importlib.util.spec_from_file_location("grpo_loop", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_trains(loop: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(tmp_path)
    policy = warm_policy(tmp_path, DemoTraining(warm_steps=60, warm_batch=32))
    said = ["--policy", str(policy), "--data", str(tmp_path / TRAIN_FILE), "--out", str(tmp_path / "out")]
    said += ["--steps", "2", "--prompts", "4", "--samples", "8", "--max-tokens", "6", "--lr", "5e-4"]
    means = asyncio.run(loop.train(loop.flags().parse_args(said)))
    assert len(means) == 2
    assert all(0 <= mean <= 1 for mean in means)
    assert "step 2: reward" in capsys.readouterr().out
    assert (tmp_path / "out" / "model.safetensors").exists()


def test_advantages(loop: ModuleType) -> None:
    # Of 1, 0, 0 the mean is 1/3 and the deviation sqrt(2)/3; the failed judgment is in neither.
    found = loop.advantages([1.0, None, 0.0, 0.0])
    assert found[1] is None
    assert found[0] == pytest.approx(2**0.5)
    assert found[2] == found[3] == pytest.approx(-(2**-0.5))
    assert loop.advantages([1.0, 1.0, None]) == [None, None, None]


def test_it_stays_on_one_page() -> None:
    assert PATH.read_text().count("\n") <= 150
