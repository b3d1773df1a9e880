"""Lines and trackers of a run that is killed and gone on with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assay.rl.tracking import build_tracking
from assay.tracking import trackers
from assay.tracking.config import TrackingConfig
from assay.tracking.lines import read_lines
from assay.tracking.trackers import RunInfo, Tensorboard

from .watching import stepped


def _run(folder: Path, steps: range, config: TrackingConfig | None = None) -> None:
    """Steps of a run; the last checkpoint is that before the first of them."""

    async def run() -> None:
        tracking = build_tracking(
            config or TrackingConfig(tracker="none"), RunInfo(folder=folder, first_step=steps.start)
        )
        for step in steps:
            await tracking.after(stepped(step, metrics={"reward/mean": step / 2}))
        await tracking.close()

    asyncio.run(run())


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in line.items() if not k.startswith("time/")} for line in read_lines(folder / "metrics.jsonl")
    ]


def test_a_run_that_was_killed_and_resumed_leaves_the_lines_of_one_that_was_not(tmp_path: Path) -> None:
    _run(tmp_path / "whole", range(6))
    for kill in range(7):
        for saved in range(kill + 1):
            folder = tmp_path / f"{kill}-{saved}"
            # Steps from ``saved`` on have lines and no checkpoint.
            _run(folder, range(kill))
            _run(folder, range(saved, 6))
            assert _lines(folder) == _lines(tmp_path / "whole"), (kill, saved)


def test_the_moment_stands_in_every_line(tmp_path: Path) -> None:
    _run(tmp_path, range(2))
    first, second = read_lines(tmp_path / "metrics.jsonl")
    assert 1.7e9 < first["time/at"] <= second["time/at"]


class _Module:
    """What a tracker's package is to us."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.purged: list[int | None] = []

    def init(self, **_: Any) -> _Module:
        return self

    def log(self, _: dict[str, float], step: int) -> None:
        self.steps.append(step)

    def finish(self) -> None: ...

    def SummaryWriter(self, _: str, purge_step: int | None) -> _Module:
        self.purged.append(purge_step)
        return self

    def add_scalar(self, _: str, __: float, step: int) -> None:
        self.steps.append(step)

    def flush(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(("name", "first"), [("trackio", 0), ("wandb", 1)])
def test_trackers_that_take_nothing_back_are_told_each_step_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: int
) -> None:
    module = _Module()
    monkeypatch.setattr(trackers, "import_module", lambda _: module)
    monkeypatch.setattr(trackers, "installed", lambda _: True)
    config = TrackingConfig(tracker=name)
    # Killed after step 4, when the last checkpoint was that of two steps; then at once; then not.
    for steps in (range(5), range(2, 2), range(2, 7)):
        _run(tmp_path, steps, config)
    assert module.steps == [*range(first, first + 5), first + 5, first + 6]


def test_tensorboard_takes_back_what_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = _Module()
    monkeypatch.setattr(trackers, "import_module", lambda _: module)
    monkeypatch.setattr(trackers, "installed", lambda _: True)
    for steps in (range(5), range(2, 7), range(7, 8)):
        _run(tmp_path, steps, TrackingConfig(tracker="tensorboard"))
    assert module.purged == [None, 3, None]
    assert module.steps == [1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8]


def test_tensorboard_itself_takes_a_step_to_go_back_to(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    tracker = Tensorboard(RunInfo(folder=tmp_path, first_step=2, told=4))
    tracker.log(2, {"reward/mean": 0.5})
    tracker.close()
    assert list((tmp_path / "tensorboard").iterdir())
