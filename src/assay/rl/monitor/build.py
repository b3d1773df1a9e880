"""From the flags to the monitors of a run: whom they ask about what.

The judges are those of the reward, asked where the reward asks them. Owns: which monitor has which panel, and the start
and end of the backends that only the monitors ask. Does not own: what is asked (``monitor``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Item
from assay.judges import build_judge
from assay.judges.base import Judge
from assay.scoring.batch import Judging

from ..residency import Enter
from ..rewards.asking import Asker
from ..rewards.backends import Backends
from ..rewards.base import RewardFunction
from ..rewards.build import askers
from ..rewards.config import RewardConfig
from .config import MonitorConfig
from .gold import load_gold
from .monitor import Monitor, Panels, StopOnAlarm
from .panel import Panel


class Monitors:
    """The monitors of a run, with the backends that are theirs alone: started and closed as one."""

    def __init__(self, monitors: Sequence[Monitor], backends: Backends, *, stop: bool) -> None:
        self.all = tuple(monitors)
        self.last: tuple[StopOnAlarm, ...] = (StopOnAlarm(*monitors),) if stop else ()
        """Stands behind all other observers."""
        self._backends = backends

    async def start(self) -> None:
        """See ``Backends.start``."""
        await self._backends.start()

    async def close(self) -> None:
        await self._backends.close()

    def resume(self, lines: Sequence[Mapping[str, Any]], step: int) -> None:
        """See ``Monitor.resume``."""
        for monitor in self.all:
            monitor.resume(lines, step)


def build_monitors(
    config: MonitorConfig,
    rewards: RewardConfig,
    reward: RewardFunction,
    *,
    gold: Sequence[Item] | None = None,
    backends: Mapping[str, Judging] | None = None,
    enter: Enter | None = None,
    labelled: bool = True,
) -> Monitors:
    """One monitor of the rewards and, where these come from several judges, one of each of them.

    Args:
        reward: what the run is trained with.
        gold: the gold set; None reads it.
        backends: as for ``build_reward``.
        enter: wakes the judges, where they sleep between steps.
        labelled: whether prompts have labels that a rule could compare answers with.

    Raises:
        InputError: nobody is there to be asked, or a judge takes none of the gold items.
    """
    own = Backends(config=rewards, given=backends)
    if config.monitor_interval is None:
        return Monitors([Monitor(config)], own, stop=config.monitor_stop)
    judges = askers(reward)
    gold = () if not judges else load_gold(config) if gold is None else gold
    alone = judges.pop("", None)
    panels = Panels(
        judge=None if alone is None else _panel(config, alone),
        second=_second(config, own),
        rule=_rule(config, own, [] if alone is None else [alone.judge]) if labelled else None,
    )
    if not judges and panels == Panels():
        raise InputError(
            f"monitor_interval {config.monitor_interval}: the reward is a function of your own, and there is nobody "
            "to be asked about it: name a judge with --monitor-judge, or leave --monitor-interval out"
        )
    monitors = [Monitor(config, panels, gold, enter=enter)]
    for label, asker in judges.items():
        monitors.append(Monitor(config, Panels(judge=_panel(config, asker)), gold, label=label, enter=enter))
    return Monitors(monitors, own, stop=config.monitor_stop)


def _panel(config: MonitorConfig, asker: Asker) -> Panel:
    return _asked(config, asker.judge, asker.backend)


def _asked(config: MonitorConfig, judge: Judge, backend: Judging) -> Panel:
    return Panel(
        judge=judge, backend=backend, timeout_s=config.monitor_timeout_s, concurrency=config.monitor_concurrency
    )


def _second(config: MonitorConfig, backends: Backends) -> Panel | None:
    if config.monitor_judge is None or not config.monitor_sample:
        return None
    judge = build_judge(config.monitor_judge)
    if judge.reduce == "majority":
        raise InputError(
            f"monitor_judge {judge.name!r} compares answers, and the second judge looks at one at a time: name one "
            "that gives scores"
        )
    return _asked(config, judge, backends.of(judge, config.monitor_route_key, None))


def _rule(config: MonitorConfig, backends: Backends, judges: Sequence[Judge]) -> Panel | None:
    """Not where the reward is by rule already: they would always agree."""
    if not config.monitor_rule or not config.monitor_sample or any(judge.rule for judge in judges):
        return None
    rule = build_judge("math")
    return _asked(config, rule, backends.of(rule, None, None))
