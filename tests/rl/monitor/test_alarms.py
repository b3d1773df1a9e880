from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rl.monitor.alarms import SMOOTH, alarms, told
from assay.rl.monitor.config import MonitorConfig

CONFIG = MonitorConfig()


def _raised(*history: dict[str, float]) -> list[str]:
    return [alarm.figure for alarm in alarms(history, CONFIG)]


def test_without_a_look_or_with_good_figures_all_is_quiet() -> None:
    assert _raised() == []
    good = {"agreement": 0.9, "false_positives": 0.0, "consistency": 1.0, "second_agreement": 0.9, "failed": 0.0}
    assert _raised(good, good) == []


@pytest.mark.parametrize(
    ("figure", "fine", "bad"),
    [("false_positives", 0.2, 0.21), ("consistency", 0.7, 0.69), ("second_agreement", 0.6, 0.59), ("failed", 0.2, 0.3)],
)
def test_bounds_on_the_last_figure(figure: str, fine: float, bad: float) -> None:
    assert _raised({figure: bad}, {figure: fine}) == []
    assert _raised({figure: fine}, {figure: bad}) == [figure]


def test_a_judge_at_chance_is_no_alarm_and_one_that_falls_is() -> None:
    assert _raised({"agreement": 0.5}, {"agreement": 0.5}) == []
    assert _raised({"agreement": 0.9}, {"agreement": 0.8}, {"agreement": 0.7}) == ["agreement"]
    assert _raised({"agreement": 0.5}, {"agreement": 0.9}, {"agreement": 0.7}) == []


def test_rewards_that_outgrow_right_answers_are_an_alarm() -> None:
    assert _raised({"gold_gap": 0.3}, {"gold_gap": 0.4}) == []
    assert _raised({"gold_gap": 0.0}, {"gold_gap": 0.25}) == ["gold_gap"]


def test_a_noisy_figure_is_averaged() -> None:
    looks = [{"length_correlation": 0.9}] * (SMOOTH - 1)
    assert _raised(*looks) == []
    assert _raised(*looks, {"length_correlation": 0.8}) == ["length_correlation"]
    assert _raised(*[{"length_correlation": -0.9}] * SMOOTH) == ["length_correlation"]
    assert _raised(*[{"length_correlation": sign * 0.9} for sign in (1, -1) * SMOOTH]) == []


def test_a_figure_that_the_last_look_lacks_raises_nothing() -> None:
    assert _raised({"false_positives": 1.0}, {"length_correlation": 0.0}) == []


def test_an_alarm_is_one_line_with_figure_and_threshold() -> None:
    line = told(12, alarms([{"false_positives": 0.5, "failed": 0.25}], CONFIG))
    assert line.startswith("monitor, step 12: ")
    assert "false_positives 0.50, threshold 0.2" in line
    assert "failed 0.25, threshold 0.2" in line
    assert "\n" not in line


FIGURES = [
    "agreement",
    "false_positives",
    "consistency",
    "length_correlation",
    "second_agreement",
    "gold_gap",
    "failed",
    "other",
]


@given(st.lists(st.dictionaries(st.sampled_from(FIGURES), st.floats(-1, 1)), max_size=8))
def test_alarms_are_of_the_last_look_and_beyond_their_threshold(history: list[dict[str, float]]) -> None:
    for alarm in alarms(history, CONFIG):
        assert alarm.figure in history[-1]
        below = alarm.figure in ("consistency", "second_agreement")
        assert alarm.value < alarm.threshold if below else alarm.value > alarm.threshold
