"""How long a run makes steps."""

from __future__ import annotations

from pathlib import Path

from assay.rl.clock import Clock
from assay.rl.config import TrainConfig
from assay.tracking.lines import MetricLines


def test_earlier_calls_count_up_to_the_step_that_is_gone_on_after(tmp_path: Path) -> None:
    lines = MetricLines(tmp_path)
    for step, seconds in ((-1, 99.0), (0, 20.0), (1, 30.0), (2, 40.0)):
        lines.write(step, {"time/step": seconds})
    config = TrainConfig(prompt_data="x", rm_type="math", run_dir=tmp_path, minutes=1.0)
    assert Clock.of(config, 2).before == 50.0
    assert not Clock.of(config, 2).over()
    assert Clock.of(config, 3).over()
    assert not Clock.of(config, 3).call_is_over()


def test_a_call_has_a_time_of_its_own() -> None:
    now = Clock(minutes=None, call_minutes=1e-9)
    assert now.call_is_over()
    assert not now.over()
