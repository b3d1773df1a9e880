"""What the monitor saw, out of the lines of a run: worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.report.training import TrainingRun, read_training
from assay.report.training_monitor import alarm_lines, seen
from assay.report.training_page import training_page
from assay.report.training_words import step_line
from assay.tracking.lines import MetricLines


def written(folder: Path, lines: list[dict[str, float]], **config: Any) -> TrainingRun:
    log = MetricLines(folder)
    for step, line in enumerate(lines):
        log.write(step, {"reward/mean": 0.5, **line})
    (folder / "config.json").write_text(json.dumps(config))
    return read_training(folder)


GAPS = [
    {"monitor/gold_gap": 0.1, "monitor/gold_right": 0.4, "monitor/alarms": 0.0},
    {"monitor/length_correlation": 0.1, "monitor/alarms": 0.0},
    {"monitor/gold_gap": 0.25, "monitor/gold_right": 0.5, "monitor/alarms": 0.0},
    {"monitor/gold_gap": 0.45, "monitor/gold_right": 0.5, "monitor/alarms": 1.0},
]


def test_figures_are_told_first_and_last_with_their_alarms(tmp_path: Path) -> None:
    run = written(tmp_path, GAPS)
    gap = next(one for one in seen(run) if one.figure == "gold_gap")
    assert (gap.first, gap.last, gap.looks, gap.alarmed) == (0.1, 0.45, 3, (4,))
    assert gap.alarm is not None
    assert (round(gap.alarm.value, 6), gap.alarm.threshold) == (0.35, 0.2)
    (line,) = alarm_lines(run)
    assert line.startswith("monitor: alarms at 1 step, last at step 4: rewards have risen further than right answers")
    page = training_page(run)
    assert "What the monitor saw" in page
    assert "0.10 at first, 0.45 at the last of 3 looks" in page
    assert "(0.35, threshold 0.2)" in page


def test_thresholds_are_those_of_the_run(tmp_path: Path) -> None:
    run = written(tmp_path, GAPS, monitor_max_gap_growth=0.1)
    assert next(one for one in seen(run) if one.figure == "gold_gap").alarmed == (3, 4)


def test_the_monitors_of_several_judges_are_told_apart(tmp_path: Path) -> None:
    looks = [
        {"monitor/right/agreement": 0.9, "monitor/kind/agreement": 0.8, "monitor/kind/alarms": 0.0},
        {"monitor/right/agreement": 0.9, "monitor/kind/agreement": 0.5, "monitor/kind/alarms": 1.0},
    ]
    run = written(tmp_path, looks)
    assert [(one.label, one.last, one.alarmed) for one in seen(run)] == [("right", 0.9, ()), ("kind", 0.5, (2,))]
    (line,) = alarm_lines(run)
    assert line.startswith("monitor/kind: alarms at 1 step, last at step 2: the judge agrees less")
    assert "1 alarm" in step_line(1, 2, run.lines[-1])
    assert "kind: judge agrees with the gold set" in training_page(run)


def test_a_run_without_a_monitor_has_no_section(tmp_path: Path) -> None:
    run = written(tmp_path, [{}])
    assert (seen(run), alarm_lines(run)) == ([], [])
    assert "What the monitor saw" not in training_page(run)
