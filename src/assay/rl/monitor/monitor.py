"""The observer that watches judge and rewards.

At every look the judge is asked about a frozen gold set, about the same items swapped, and about attack strings; a
sample of the step's answers is looked at by a rule and by a second judge. What costs no judgment is watched at every
step. Owns: what is asked when. Does not own: the figures (``figures``), what is an alarm (``alarms``), attack strings
(``judges.probes``).
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import InputError, TrainingStopped
from assay.core.seeds import derive_order, derive_seed
from assay.core.types import Item, Outcome
from assay.judges.probe_readings import fooled, ranking
from assay.judges.probes import PROBES, Probe, attacked, swapped

from ..residency import Enter
from ..rewards.items import to_item
from ..sample import Sample, Status
from ..step import StepResult
from .alarms import Alarm, alarms, told
from .config import MonitorConfig
from .figures import agreement, consistency, share
from .panel import Panel, failures

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """Who is asked: ``judge`` about the gold set, swaps and attacks; ``rule``, which compares an answer with its label,
    and ``second``, another judge, about answers of the step. Any may be absent.
    """

    judge: Panel | None = None
    second: Panel | None = None
    rule: Panel | None = None


@dataclass(slots=True)
class _Look:
    """One look while it is made."""

    seed: int
    found: dict[str, float | None] = field(default_factory=dict[str, float | None])
    asked: int = 0
    failed: int = 0

    async def ask(self, panel: Panel, items: Sequence[Item], *, fixed: bool = False) -> list[Outcome]:
        outcomes = await panel.ask(items, seed=self.seed, fixed=fixed)
        self.asked += len(outcomes)
        self.failed += failures(outcomes)
        return outcomes


class Monitor:
    """``Observer``. ``panels`` None: only what costs no judgment. ``label`` tells the monitors of several judges apart;
    one with a label watches its judge alone.

    Raises:
        InputError: the judge can judge none of the gold items.
    """

    def __init__(
        self,
        config: MonitorConfig,
        panels: Panels | None = None,
        gold: Sequence[Item] = (),
        *,
        label: str = "",
        enter: Enter | None = None,
    ) -> None:
        self.config = config
        self.alarms: tuple[Alarm, ...] = ()
        self.panels = panels
        self.label = label
        self._prefix = f"monitor/{label}/" if label else "monitor/"
        self._enter = enter
        self._history: list[dict[str, float]] = []
        judge = None if panels is None else panels.judge
        self._gold = [] if judge is None else frozen(gold, config.monitor_gold_items, judge)
        self._attacks = [] if judge is None else _attacks(self._gold, config.monitor_attack_items, judge)

    def resume(self, lines: Sequence[Mapping[str, Any]], step: int) -> None:
        """Take over what was found before ``step``, out of the lines of ``metrics.jsonl``."""
        for line in (line for line in lines if line["step"] < step):
            own = looks(line, self.label)
            if own:
                self._history.append(own)

    async def after(self, result: StepResult) -> Mapping[str, float]:
        begin = time.perf_counter()
        look = _Look(seed=result.step + 1)
        if not self.label:
            look.found["length_correlation"] = result.metrics.get("reward/length_correlation")
        if self._due(result.step + 1):
            await self._look(look, result)
        found = {name: value for name, value in look.found.items() if value is not None}
        if not found:
            self.alarms = ()
            return {}
        self._history.append(found)
        before, self.alarms = self.alarms, tuple(alarms(self._history, self.config))
        if {one.figure for one in self.alarms} - {one.figure for one in before}:
            log.warning("%s", told(result.step, self.alarms, self.label))
        found["alarms"] = float(len(self.alarms))
        return {f"{self._prefix}{name}": value for name, value in found.items()} | {
            "time/monitor": time.perf_counter() - begin + result.metrics.get("time/monitor", 0.0)
        }

    async def close(self) -> None:
        """Judges belong to whoever gave them."""

    def _due(self, made: int) -> bool:
        interval = self.config.monitor_interval
        return self.panels is not None and interval is not None and (made == 1 or made % interval == 0)

    async def _look(self, look: _Look, result: StepResult) -> None:
        if self.panels is None:
            return
        if self._enter is not None:
            await self._enter("judge")
        judge = self.panels.judge
        if judge is not None:
            scores = await self._on_gold(look, judge)
            if not judge.judge.per_candidate:
                await self._on_swaps(look, judge, scores)
            await self._on_attacks(look, judge)
        await self._on_answers(look, result, self.panels)
        look.found["failed"] = look.failed / look.asked if look.asked else None

    async def _on_gold(self, look: _Look, judge: Panel) -> list[tuple[float, ...] | None]:
        outcomes = await look.ask(judge, self._gold, fixed=not judge.judge.per_candidate)
        scores = [ranking(outcome, item.n) for outcome, item in zip(outcomes, self._gold, strict=True)]
        look.found["agreement"] = agreement(
            (own, item.gold)
            for own, item in zip(scores, self._gold, strict=True)
            if own is not None and item.gold is not None
        )
        return scores

    async def _on_swaps(self, look: _Look, judge: Panel, scores: Sequence[tuple[float, ...] | None]) -> None:
        several = [(item, own) for item, own in zip(self._gold, scores, strict=True) if item.n > 1]
        outcomes = await look.ask(judge, [swapped(item) for item, _ in several], fixed=True)
        others = [ranking(outcome, item.n) for outcome, (item, _) in zip(outcomes, several, strict=True)]
        look.found["consistency"] = consistency(
            (own, other)
            for (_, own), other in zip(several, others, strict=True)
            if own is not None and other is not None
        )

    async def _on_attacks(self, look: _Look, judge: Panel) -> None:
        outcomes = await look.ask(judge, [item for item, _ in self._attacks])
        taken = [
            fooled(ranking(outcome, item.n), judge.judge.scale)
            for outcome, (item, _) in zip(outcomes, self._attacks, strict=True)
        ]
        look.found["false_positives"] = share(taken)
        for kind in dict.fromkeys(probe.kind for _, probe in self._attacks):
            own = (one for one, (_, probe) in zip(taken, self._attacks, strict=True) if probe.kind is kind)
            look.found[f"false_positives_{kind}"] = share(own)

    async def _on_answers(self, look: _Look, result: StepResult, panels: Panels) -> None:
        """Some of the step's answers, as the rule and the second judge see them."""
        chosen = drawn(result, self.config.monitor_sample)
        if panels.rule is not None:
            right, rewards = await self._seen(look, panels.rule, [one for one in chosen if one.label is not None])
            if right:
                accepted = statistics.fmean(reward > self.config.monitor_right_above for reward in rewards)
                look.found["gold_agreement"] = agreement([(rewards, right)])
                look.found["gold_right"] = statistics.fmean(right)
                look.found["gold_gap"] = accepted - statistics.fmean(right)
        if panels.second is not None:
            look.found["second_agreement"] = agreement([await self._seen(look, panels.second, chosen)])

    async def _seen(self, look: _Look, panel: Panel, chosen: Sequence[Sample]) -> tuple[list[float], list[float]]:
        """Scores and rewards of the answers that the panel can judge, and did."""
        items = [(to_item([one]), one) for one in chosen]
        able = [(item, one) for item, one in items if panel.takes(item)]
        outcomes = await look.ask(panel, [item for item, _ in able])
        scores, rewards = list[float](), list[float]()
        for outcome, (_, one) in zip(outcomes, able, strict=True):
            own = ranking(outcome, 1)
            if own is not None and one.reward is not None and one.reward.value is not None:
                scores.append(own[0])
                rewards.append(one.reward.value)
        return scores, rewards


class StopOnAlarm:
    """``Observer`` that stops the run when a monitor has an alarm. It stands last, behind the tracking, so that the
    figures of the step that is stopped at are written down.
    """

    def __init__(self, *monitors: Monitor) -> None:
        self._monitors = monitors

    async def after(self, result: StepResult) -> Mapping[str, float]:
        raised = [told(result.step, one.alarms, one.label) for one in self._monitors if one.alarms]
        if raised:
            raise TrainingStopped(
                f"{'. '.join(raised)}. Look at the samples; the same command goes on, with another "
                "threshold or without --monitor-stop; or go on with --load and another judge in another --run-dir"
            )
        return {}

    async def close(self) -> None: ...


def looks(line: Mapping[str, Any], label: str = "") -> dict[str, float]:
    """The figures of one look, by their short names, out of a line of ``metrics.jsonl``."""
    prefix = f"monitor/{label}/" if label else "monitor/"
    own = {key.removeprefix(prefix): value for key, value in line.items() if key.startswith(prefix)}
    # Without a label, those of others have one more part.
    return {key: float(value) for key, value in own.items() if value is not None and "/" not in key}


def frozen(items: Sequence[Item], most: int, judge: Panel) -> list[Item]:
    """Which items are asked about, always the same ones: those that the judge takes, in a seeded order.

    Raises:
        InputError: the judge takes none of them.
    """
    able = [item for item in items if item.gold is not None and judge.takes(item)]
    if not able:
        raise InputError(
            f"judge {judge.judge.name!r} can judge none of the {len(items)} items of the gold set: name a file with "
            "what it needs (--monitor-gold), or leave --monitor-interval out"
        )
    order = derive_order(derive_seed("gold", "", 0, "monitor"), len(able))
    return [able[place] for place in sorted(order[:most])]


def drawn(result: StepResult, most: int) -> list[Sample]:
    """The answers of a step that are looked at, in a seeded order; those without a reward cannot be compared."""
    every = [
        sample
        for group in result.groups
        for sample in group.samples
        if sample.status is not Status.FAILED and sample.reward is not None and sample.reward.value is not None
    ]
    order = derive_order(derive_seed(str(result.step), "", 0, "monitor"), len(every))
    return [every[place] for place in order[:most]]


def _attacks(gold: Sequence[Item], questions: int, judge: Panel) -> list[tuple[Item, Probe]]:
    alone = judge.judge.per_candidate
    found = [(attacked(item, probe, alone=alone), probe) for item in gold[:questions] for probe in PROBES]
    return [(item, probe) for item, probe in found if item is not None and judge.takes(item)]
