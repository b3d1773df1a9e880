"""The folder of a run: what the same command goes on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.rl.config import TrainConfig
from assay.rl.run import prepared


def config(folder: Path, **more: Any) -> TrainConfig:
    return TrainConfig(**{"prompt_data": "prompts.jsonl", "run_dir": folder / "run"} | more)


def checkpoint(root: Path, name: str) -> Path:
    (root / name).mkdir(parents=True)
    return root / name


def test_the_same_command_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    assert prepared(config(tmp_path)).load is None
    checkpoint(tmp_path / "run" / "checkpoints", "step-00000002")
    assert prepared(config(tmp_path)).load == str(tmp_path / "run" / "checkpoints")
    with pytest.raises(InputError, match="lr="):
        prepared(config(tmp_path, lr=0.5))


def test_a_kill_before_the_first_checkpoint_was_whole_begins_anew(tmp_path: Path) -> None:
    prepared(config(tmp_path))
    checkpoint(tmp_path / "run" / "checkpoints", ".unfinished-step-00000002")
    assert prepared(config(tmp_path)).load is None


def test_what_a_run_began_with_is_not_gone_back_to(tmp_path: Path) -> None:
    other = str(checkpoint(tmp_path / "other", "step-00000007"))
    assert prepared(config(tmp_path, load=other)).load == other
    checkpoint(tmp_path / "run" / "checkpoints", "step-00000009")
    assert prepared(config(tmp_path, load=other)).load == str(tmp_path / "run" / "checkpoints")
    # Another one than before is meant.
    own = str(checkpoint(tmp_path / "run" / "checkpoints", "step-00000008"))
    assert prepared(config(tmp_path, load=own)).load == own
