from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, TrainingStopped
from assay.core.types import Candidate, ChatPrompt, Completion, FailureKind, Item, Message, Request
from assay.engines.base import EngineHealth, EngineInfo
from assay.judges import build_judge
from assay.judges.base import Judge
from assay.rl.monitor.config import MonitorConfig
from assay.rl.monitor.gold import load_gold
from assay.rl.monitor.monitor import Monitor, Panels, StopOnAlarm, drawn, frozen
from assay.rl.monitor.panel import Panel
from assay.rl.sample import Sample
from assay.scoring.scorer import Scorer

from ..watching import PARSE_ERROR, group, lost, rewarded, sample, stepped


class Says:
    """A model that judges by a function of what it is shown; None is a fault."""

    def __init__(self, reply: Callable[[str], str | None]) -> None:
        self.reply = reply
        self.shown: list[str] = []
        self.info = EngineInfo(model="says", weight_version="v0", capabilities=frozenset({"chat"}))

    async def start(self) -> None: ...

    async def generate(self, request: Request, deadline: Deadline) -> tuple[Completion, ...]:
        assert isinstance(request.prompt, ChatPrompt)
        text = request.prompt.messages[-1].text
        self.shown.append(text)
        said = self.reply(text)
        if said is None:
            raise GenerationError(FailureKind.BAD_REQUEST, "cannot say")
        return (Completion(request_id=request.id, text=said),)

    async def health(self) -> EngineHealth:
        return EngineHealth(healthy=True, state="awake")

    async def close(self) -> None: ...


def _panel(engine: Says, judge: Judge) -> Panel:
    return Panel(judge=judge, backend=Scorer(engine))


def _item(number: int, right: str = "apple", wrong: str = "pear") -> Item:
    return Item(
        id=f"item-{number}",
        messages=(Message(role="user", content=f"question {number}"),),
        candidates=(Candidate(text=f"{right} {number}"), Candidate(text=f"{wrong} {number}")),
        reference=f"apple {number}",
        gold=(1.0, 0.0),
    )


GOLD = [_item(number) for number in range(4)]


def _verifier(text: str) -> str:
    """A good verifier: the answer that is judged, which stands last, says what the reference says."""
    return "1" if text.count("apple") > 1 else "0"


def _look(
    monitor: Monitor, step: int = 0, groups: Sequence[Any] = (), metrics: Mapping[str, float] | None = None
) -> dict[str, float]:
    found = dict(asyncio.run(monitor.after(stepped(step, groups, metrics))))
    return {name: value for name, value in found.items() if not name.startswith("time/")}


def _monitor(panels: Panels, **config: Any) -> Monitor:
    return Monitor(MonitorConfig(monitor_interval=2, **config), panels, GOLD)


def test_a_good_verifier_has_good_figures() -> None:
    found = _look(_monitor(Panels(judge=_panel(Says(_verifier), build_judge("verifier")))))
    assert found["monitor/agreement"] == 1.0
    assert found["monitor/false_positives"] == 0.0
    assert found["monitor/failed"] == 0.0
    assert found["monitor/alarms"] == 0.0
    assert "monitor/consistency" not in found, "a judge of single answers has no order to swap"


def test_a_judge_that_likes_everything_is_an_alarm_and_stops_the_run(caplog: pytest.LogCaptureFixture) -> None:
    monitor = _monitor(Panels(judge=_panel(Says(lambda _: "1"), build_judge("verifier"))))
    with caplog.at_level(logging.WARNING):
        found = _look(monitor)
    assert found["monitor/agreement"] == 0.5
    assert found["monitor/false_positives"] == found["monitor/false_positives_injection"] == 1.0
    assert found["monitor/alarms"] == 1.0
    assert len(caplog.records) == 1
    with pytest.raises(TrainingStopped, match=r"accepts answers that say nothing.*--load"):
        asyncio.run(StopOnAlarm(monitor).after(stepped(0)))


def test_a_quiet_monitor_stops_nothing() -> None:
    monitor = _monitor(Panels(judge=_panel(Says(_verifier), build_judge("verifier"))))
    _look(monitor)
    assert asyncio.run(StopOnAlarm(monitor).after(stepped(0))) == {}


def test_failed_judgments_are_no_figures_but_are_counted() -> None:
    def half(text: str) -> str | None:
        # A marker reads "[[question" and a tag, which may begin with any digit.
        return _verifier(text) if "\nquestion 0" in text or "\nquestion 2" in text else None

    found = _look(_monitor(Panels(judge=_panel(Says(half), build_judge("verifier"))), monitor_attack_items=0))
    # An item with a failed candidate has no verdict: two of four are left.
    assert found["monitor/agreement"] == 1.0
    assert found["monitor/failed"] == 0.5
    assert "monitor/false_positives" not in found


def test_a_judge_that_prefers_what_stands_first_is_inconsistent() -> None:
    engine = Says(lambda _: "\\boxed{9, 2}")
    found = _look(_monitor(Panels(judge=_panel(engine, build_judge("pointwise")))))
    # Shown in the item's own order, where the good one is first.
    assert found["monitor/agreement"] == 1.0
    assert found["monitor/consistency"] == 0.0
    assert found["monitor/alarms"] >= 1.0
    first, second = engine.shown[0], engine.shown[len(GOLD)]
    assert first.rindex("apple 0") < first.rindex("pear 0")
    assert second.rindex("pear 0") < second.rindex("apple 0")


def test_attacks_on_a_judge_of_several_must_not_reach_the_good_answer() -> None:
    def equal(text: str) -> str:
        return "\\boxed{5, 5}"

    found = _look(_monitor(Panels(judge=_panel(Says(equal), build_judge("pointwise")))))
    assert found["monitor/false_positives"] == 1.0
    assert found["monitor/agreement"] == 0.5
    assert found["monitor/consistency"] == 1.0


class Rule:
    """Right where the answer is the label: the rule judge, without a process pool."""

    def __init__(self, only: Callable[[Item], float]) -> None:
        self.only = only
        self.items: list[Item] = []

    async def judge(self, judge: Judge, item: Item, deadline: Deadline, **_: Any) -> Any:
        from assay.core.types import Verdict
        from assay.scoring.judgment import Judgment

        self.items.append(item)
        outcome = Verdict(scores=(self.only(item),))
        return Judgment(item=item, judge="rule", judge_identity="rule", outcome=outcome, votes=())


def _answers(*told: tuple[str, float]) -> list[Any]:
    return [
        group(
            *(replace(sample(reward, index=place), response=text) for place, (text, reward) in enumerate(told)),
            sample(PARSE_ERROR, index=len(told)),
            lost(0, len(told) + 1),
        )
    ]


def test_rewards_are_compared_with_the_rule_and_with_a_second_judge() -> None:
    rule = Rule(lambda item: float(item.candidates[0].text == item.reference))
    second = Rule(lambda item: -float(len(item.candidates[0].text)))
    verifier = build_judge("verifier")
    panels = Panels(
        judge=_panel(Says(_verifier), verifier),
        rule=Panel(judge=verifier, backend=rule),  # type: ignore[arg-type]
        second=Panel(judge=verifier, backend=second),  # type: ignore[arg-type]
    )
    # The label is 4. Accepted: "4", "five", "six"; right: "4", "4".
    groups = _answers(("4", 1.0), ("five", 1.0), ("six", 0.9), ("4", 0.0))
    found = _look(_monitor(panels), groups=groups)
    assert len(rule.items) == 4
    assert found["monitor/gold_right"] == 0.5
    assert found["monitor/gold_gap"] == pytest.approx(0.25)
    # (right, wrong) pairs by reward: (1, 1) a tie, (1, .9) won, (0, 1) and (0, .9) lost.
    assert found["monitor/gold_agreement"] == pytest.approx(1.5 / 4)
    # By reward 4 = five > six > 4'; by the second judge 4 = 4' > six > five, over the pairs that differ in reward.
    assert found["monitor/second_agreement"] == pytest.approx((1 + 0.5 + 0 + 0 + 0) / 5)


def test_what_costs_no_judgment_is_watched_at_every_step() -> None:
    monitor = Monitor(MonitorConfig())
    found = [_look(monitor, step, metrics={"reward/length_correlation": 0.9}) for step in range(6)]
    assert found[0] == {"monitor/length_correlation": 0.9, "monitor/alarms": 0.0}
    assert found[5]["monitor/alarms"] == 1.0
    assert _look(Monitor(MonitorConfig()), 0, [rewarded(1.0, 1.0)]) == {}


def test_the_judge_is_asked_at_the_first_step_and_every_so_many() -> None:
    engine = Says(_verifier)
    monitor = _monitor(Panels(judge=_panel(engine, build_judge("verifier"))))
    asked = []
    for step in range(4):
        before = len(engine.shown)
        _look(monitor, step)
        asked.append(len(engine.shown) > before)
    assert asked == [True, True, False, True]


def test_a_verdict_cache_does_not_answer_for_the_judge() -> None:
    from assay.scoring.cache import VerdictCache

    engine = Says(_verifier)
    judge = build_judge("verifier")
    with closing(VerdictCache()) as cache:
        panel = Panel(judge=judge, backend=Scorer(engine, cache=cache))
        monitor = Monitor(MonitorConfig(monitor_interval=1), Panels(judge=panel), GOLD)
        for step in range(3):
            _look(monitor, step)
    assert len(engine.shown) % 3 == 0
    assert engine.shown.count(engine.shown[0]) == 3


def test_the_judge_is_woken_before_it_is_asked() -> None:
    entered: list[str] = []

    async def enter(phase: Literal["generate", "judge"]) -> None:
        entered.append(phase)

    panels = Panels(judge=_panel(Says(_verifier), build_judge("verifier")))
    monitor = Monitor(MonitorConfig(monitor_interval=2), panels, GOLD, label="math", enter=enter)
    assert "monitor/math/agreement" in _look(monitor, 0)
    _look(monitor, 2)
    assert entered == ["judge"]


def test_a_resumed_monitor_knows_what_was_seen_at_the_start() -> None:
    good, bad = Says(_verifier), Says(lambda text: "0" if _verifier(text) == "1" else "1")
    judge = build_judge("verifier")
    line = {"step": 0, **_look(_monitor(Panels(judge=_panel(good, judge))))}
    monitor = _monitor(Panels(judge=_panel(bad, judge)))
    monitor.resume([line, {"step": 1, "reward/mean": 0.5}, {"step": 5, "monitor/agreement": 0.0}], 2)
    _look(monitor, 3)
    assert "agreement" in {alarm.figure for alarm in monitor.alarms}
    fresh = _monitor(Panels(judge=_panel(bad, judge)))
    _look(fresh, 3)
    assert "agreement" not in {alarm.figure for alarm in fresh.alarms}


def test_the_gold_set_is_frozen_and_must_suit_the_judge() -> None:
    panel = _panel(Says(_verifier), build_judge("verifier"))
    items = [*load_gold(MonitorConfig())]
    assert frozen(items, 8, panel) == frozen(list(items), 8, panel)
    assert len(frozen(items, 8, panel)) == 8
    with pytest.raises(InputError, match="--monitor-gold"):
        frozen([replace(item, reference=None) for item in items], 8, panel)


def test_the_answers_that_are_looked_at_have_rewards_and_follow_from_the_step() -> None:
    step = stepped(3, [*_answers(("4", 1.0), ("5", 0.0)), rewarded(1.0, 0.0, ordinal=1)])
    chosen: list[Sample] = drawn(step, 3)
    assert len(chosen) == 3
    assert chosen == drawn(step, 3)
    assert all(one.reward is not None and one.reward.value is not None for one in drawn(step, 99))
    assert len(drawn(step, 99)) == 4
