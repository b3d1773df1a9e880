"""Trackers of others, as modules that are put in their place, and the real ones where they are installed."""

from __future__ import annotations

import logging
import sqlite3
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.rl.tracking import build_tracking
from assay.tracking.config import TrackingConfig
from assay.tracking.guarded import Guarded
from assay.tracking.trackers import RunInfo, Tensorboard, Trackio, Wandb

from .watching import stepped


class _Run:
    def __init__(self) -> None:
        self.said: list[tuple[int, dict[str, float]]] = []
        self.finished = False

    def log(self, metrics: dict[str, float], step: int) -> None:
        self.said.append((step, metrics))

    def finish(self) -> None:
        self.finished = True


def test_wandb_is_told_the_run_and_its_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run, told = _Run(), dict[str, Any]()

    def init(**values: Any) -> _Run:
        told.update(values)
        return run

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    tracker = Wandb(RunInfo(folder=tmp_path / "first", project="mine", config={"lr": 1e-6}))
    tracker.log(-1, {"eval/aime/pass@1": 0.25})
    tracker.log(0, {"reward/mean": 0.5})
    tracker.close()
    assert run.said == [(0, {"eval/aime/pass@1": 0.25}), (1, {"reward/mean": 0.5})]
    assert run.finished
    assert (told["project"], told["name"], told["config"]) == ("mine", "first", {"lr": 1e-6})
    assert told["resume"] == "allow"


def test_tensorboard_gets_scalars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[tuple[str, float, int]] = []
    writer = SimpleNamespace(
        add_scalar=lambda name, value, step: said.append((name, value, step)), flush=lambda: None, close=lambda: None
    )
    fake = SimpleNamespace(SummaryWriter=lambda folder, purge_step: writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    tracker = Tensorboard(RunInfo(folder=tmp_path))
    tracker.log(4, {"reward/mean": 0.5, "train/loss": -0.1})
    tracker.close()
    assert said == [("reward/mean", 0.5, 5), ("train/loss", -0.1, 5)]


def test_trackio_keeps_its_numbers_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    trackio = pytest.importorskip("trackio", reason="trackio is not installed")
    monkeypatch.setattr(trackio.utils, "TRACKIO_DIR", tmp_path / "trackio")
    monkeypatch.setattr(sys.modules["trackio.sqlite_storage"], "TRACKIO_DIR", tmp_path / "trackio")
    for steps in ((0, 1), (2,)):
        tracker = Trackio(RunInfo(folder=tmp_path / "run", project="mine", config={"lr": 1e-6}))
        for step in steps:
            tracker.log(step, {"reward/mean": step / 2})
        tracker.close()
    with sqlite3.connect(tmp_path / "trackio" / "mine.db") as base:
        rows = base.execute("select run_name, step from metrics order by step").fetchall()
    base.close()
    assert rows == [("run", 0), ("run", 1), ("run", 2)]
    assert capsys.readouterr().out == ""


class _Breaks:
    def __init__(self, at: str) -> None:
        self.at = at
        if at == "start":
            raise ConnectionError("no network")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        if self.at == "log":
            raise ValueError("too many\nmetrics")

    def close(self) -> None:
        if self.at == "close":
            raise RuntimeError("upload failed")


@pytest.mark.parametrize("at", ["start", "log", "close"])
def test_a_tracker_that_breaks_is_told_once_and_stops_nothing(at: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tracker = Guarded("wandb", lambda: _Breaks(at))
        for step in range(3):
            tracker.log(step, {"reward/mean": 0.0})
        tracker.close()
    assert tracker.error is not None
    assert len(caplog.records) == 1
    assert "metrics.jsonl" in caplog.text


def test_a_tracker_that_hangs_does_not_keep_the_run_from_ending(caplog: pytest.LogCaptureFixture) -> None:
    leave = threading.Event()
    tracker = Guarded("wandb", lambda: SimpleNamespace(log=lambda *_: leave.wait(), close=lambda: None), close_s=0.05)
    tracker.log(0, {})
    tracker.close()
    leave.set()
    assert "was not done" in caplog.text


def test_a_tracker_that_was_asked_for_must_be_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("assay.tracking.trackers.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install wandb"):
        build_tracking(TrackingConfig(tracker="wandb"), RunInfo(folder=tmp_path))


async def _tracked(config: TrackingConfig, run: Path) -> None:
    tracking = build_tracking(config, RunInfo(folder=run))
    await tracking.after(stepped(0, metrics={"reward/mean": 0.5}))
    await tracking.close()


def test_without_a_tracker_the_lines_are_written_and_a_note_is_logged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import asyncio

    monkeypatch.setattr("assay.tracking.trackers.find_spec", lambda name: None)
    with caplog.at_level(logging.WARNING, logger="assay"):
        asyncio.run(_tracked(TrackingConfig(), tmp_path))
        asyncio.run(_tracked(TrackingConfig(tracker="none"), tmp_path / "other"))
    assert caplog.text.count("pip install 'assay[tracking]'") == 1
    assert str(tmp_path / "metrics.jsonl") in caplog.text
    assert '"reward/mean": 0.5' in (tmp_path / "metrics.jsonl").read_text()
