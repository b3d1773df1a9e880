from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.rl.stepped import Stepped
from assay.rl.tracking.lines import MetricLines, read_lines
from assay.rl.tracking.tracking import Tracking, catch_up

from ..watching import stepped


class _Evaluates:
    async def after(self, stepped: Stepped) -> Mapping[str, float]:
        return {"eval/aime/pass@1": stepped.step / 10}

    async def close(self) -> None: ...


def _run(folder: Path, steps: range, *, killed_before_line: int | None = None) -> None:
    """Steps of a run that saves after each one; a kill comes between the checkpoint and the line of a step."""

    async def run() -> None:
        tracking = Tracking(MetricLines(folder))
        pending = {"reward/mean": (steps.start - 1) / 2}
        await catch_up(tracking, steps.start, pending if steps.start else {}, [_Evaluates()])
        for step in steps:
            if step == killed_before_line:
                return
            done = stepped(step, metrics={"reward/mean": step / 2, "eval/aime/pass@1": step / 10})
            await tracking.after(done)
        await tracking.close()

    asyncio.run(run())


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in line.items() if not k.startswith("time/")} for line in read_lines(folder / "metrics.jsonl")
    ]


def test_a_run_that_was_killed_and_resumed_leaves_the_lines_of_one_that_was_not(tmp_path: Path) -> None:
    _run(tmp_path / "whole", range(6))
    for kill in range(6):
        for saved in range(kill + 2):
            folder = tmp_path / f"{kill}-{saved}"
            # The line of ``kill`` is missing; the last checkpoint is that of the step before ``saved``.
            _run(folder, range(6), killed_before_line=kill)
            _run(folder, range(saved, 6))
            assert _lines(folder) == _lines(tmp_path / "whole"), (kill, saved)


def test_the_moment_stands_in_every_line(tmp_path: Path) -> None:
    _run(tmp_path, range(2))
    first, second = read_lines(tmp_path / "metrics.jsonl")
    assert 1.7e9 < first["time/at"] <= second["time/at"]
