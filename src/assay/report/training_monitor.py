"""What the monitor of a training run saw: its figures at the first and at the last look, and what was an alarm.

How many alarms there were is what the run wrote down; which they were follows from its figures and thresholds again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.rl.monitor.alarms import Alarm, alarms
from assay.rl.monitor.config import MonitorConfig
from assay.rl.monitor.monitor import looks

from .training import TrainingRun
from .words import number

COUNT = "alarms"
FIGURES: Mapping[str, str] = {
    "agreement": "judge agrees with the gold set",
    "consistency": "verdicts survive a swap of the candidates",
    "false_positives": "attacks accepted",
    "failed": "judgments of the monitor failed",
    "length_correlation": "reward goes with length, within groups",
    "gold_agreement": "rewards agree with the rule",
    "gold_right": "right answers, by the rule",
    "gold_gap": "accepted answers less right ones",
    "second_agreement": "rewards agree with the second judge",
}
"""The figures that are told, and what they say. Shares, but for the correlation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One figure of one monitor; ``label`` is empty where there is one judge. ``alarmed``: steps (from 1) with an alarm
    on it, ``alarm`` the last of them.
    """

    label: str
    figure: str
    first: float
    last: float
    looks: int
    alarmed: tuple[int, ...] = ()
    alarm: Alarm | None = None


def seen(run: TrainingRun) -> list[Seen]:
    """The figures of all monitors, in the order of ``FIGURES``."""
    return [one for label in labels(run) for one in _of(run, label)]


def labels(run: TrainingRun) -> tuple[str, ...]:
    """The monitors that there were."""
    names = (name.removeprefix("monitor/") for name in run.names if name.startswith("monitor/"))
    return tuple(dict.fromkeys(name.rpartition("/")[0] for name in names))


def alarm_lines(run: TrainingRun) -> list[str]:
    """A line for each monitor that had alarms: how often, the last time, and which."""
    found: list[str] = []
    for label in labels(run):
        name = f"monitor/{label}" if label else "monitor"
        raised = [step for step, count in run.points(f"{name}/{COUNT}") if count]
        if raised:
            steps = "1 step" if len(raised) == 1 else f"{number(len(raised))} steps"
            texts = [one.alarm.text for one in _of(run, label) if one.alarm is not None]
            which = f": {'; '.join(texts)}" if texts else ""
            found.append(f"{name}: alarms at {steps}, last at step {raised[-1]}{which}")
    return found


def _of(run: TrainingRun, label: str) -> Iterator[Seen]:
    config = MonitorConfig.model_construct(
        **{name: value for name, value in run.config.items() if name in MonitorConfig.model_fields}
    )
    history: list[dict[str, float]] = []
    raised: dict[str, list[tuple[int, Alarm]]] = {}
    for line in run.lines:
        look = looks(line, label)
        if look:
            history.append(look)
            for alarm in alarms(history, config):
                raised.setdefault(alarm.figure, []).append((int(line["step"]) + 1, alarm))
    for figure in FIGURES:
        values = [look[figure] for look in history if figure in look]
        if values:
            own = raised.get(figure, [])
            yield Seen(
                label=label,
                figure=figure,
                first=values[0],
                last=values[-1],
                looks=len(values),
                alarmed=tuple(step for step, _ in own),
                alarm=own[-1][1] if own else None,
            )
