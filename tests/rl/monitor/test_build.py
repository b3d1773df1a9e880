"""Which monitors the flags make, and whom they ask."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.rl.monitor.build import Monitors, build_monitors
from assay.rl.monitor.config import MonitorConfig
from assay.rl.rewards.build import build_reward
from assay.rl.rewards.config import RewardConfig
from assay.scoring.scorer import Scorer

from ..rewards.doubles import engine


def built(rewards: dict[str, Any], *, labelled: bool = True, **config: Any) -> Monitors:
    scorers = {"quality": Scorer(engine()), "safety": Scorer(engine())}
    own = RewardConfig(**rewards)
    reward = build_reward(own, backends=scorers)
    return build_monitors(
        MonitorConfig.model_validate({"monitor_interval": 1} | config),
        own,
        reward.reward,
        backends=scorers,
        labelled=labelled,
    )


def told(monitors: Monitors) -> list[tuple[str, list[str | None]]]:
    found: list[tuple[str, list[str | None]]] = []
    for monitor in monitors.all:
        panels = monitor.panels
        assert panels is not None
        asked = (panels.judge, panels.second, panels.rule)
        found.append((monitor.label, [None if one is None else one.judge.name for one in asked]))
    return found


ONE = {"judge": "verifier", "route_key": "quality"}


def test_the_judge_of_the_reward_is_watched_and_answers_are_compared_with_their_labels() -> None:
    assert told(built(ONE)) == [("", ["verifier", None, "math"])]
    assert told(built(ONE, labelled=False)) == [("", ["verifier", None, None])]
    assert told(built(ONE, monitor_rule=False)) == [("", ["verifier", None, None])]
    assert told(built(ONE, monitor_judge="pointwise", monitor_route_key="safety")) == [
        ("", ["verifier", "pointwise", "math"])
    ]


def test_a_rule_is_not_compared_with_itself() -> None:
    assert told(built({"rm_type": "math"})) == [("", ["math", None, None])]


def test_each_of_several_judges_has_a_monitor() -> None:
    parts = {
        "right": {"judge": "verifier", "route_key": "quality"},
        "kind": {"judge": "pointwise", "route_key": "safety"},
    }
    expected = [
        ("", [None, None, "math"]),
        ("right", ["verifier", None, None]),
        ("kind", ["pointwise", None, None]),
    ]
    assert told(built({"reward_parts": parts})) == expected


def test_without_an_interval_nobody_is_asked() -> None:
    (monitor,) = built(ONE, monitor_interval=None).all
    assert monitor.panels is None
    assert built(ONE, monitor_interval=None).last == ()
    assert len(built(ONE, monitor_interval=None, monitor_stop=True).last) == 1


def test_a_second_judge_must_give_scores() -> None:
    with pytest.raises(InputError, match="name one that gives scores"):
        built(ONE, monitor_judge="pairwise", monitor_route_key="safety")


@pytest.mark.parametrize("said", [{"monitor_judge": "pointwise"}, {"monitor_gold": "gold.jsonl"}])
def test_flags_of_looks_need_looks(said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="monitor_interval"):
        MonitorConfig(**said)
