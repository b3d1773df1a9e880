"""The series of a run: greedy, Voting@k and MetaRM@k for every k, out of its passes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.voting.plan import VotePlan

from ..unit import Judged, Unit
from .answers import Reading, judged_units
from .asked import Asked
from .passes import SEED, VOTES, Asker, Pass, sweep
from .recorded import Recorded

ONCE = "once"
"""The one series of whoever says the same every time: a reward model, a rule, a script, a table."""
VOTING_1 = "voting@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The units as answered in one way. ``k``: votes (in each order). ``k_meta``: how many of them a meta RM kept."""

    name: str
    k: int
    k_meta: int | None = None
    judged: tuple[Judged, ...]


def series_of(units: Sequence[Unit], asked: Asked, asker: Asker, recorded: Mapping[Pass, Recorded]) -> Iterator[Series]:
    """All series, the one that the run is about last. Passes of other seeds are ``seed-<n>``."""
    for one, votes in recorded.items():
        if one.name != VOTES:
            yield _made(one.name, one, one.plan, 1, units, asked, asker, votes)
    for one, votes in recorded.items():
        if one.name == VOTES:
            for name, plan, k in _plans(one, asker):
                yield _made(name, one, plan, k, units, asked, asker, votes)


def is_seed(series: Series) -> bool:
    """Whether it is the pass of another seed."""
    return series.name.startswith(SEED)


def _made(
    name: str,
    one: Pass,
    plan: VotePlan,
    k: int,
    units: Sequence[Unit],
    asked: Asked,
    asker: Asker,
    votes: Recorded,
) -> Series:
    how = Reading(judge=asker.judge, plan=plan, seed=one.seed, both=one.both)
    kept = plan.kept_by_meta
    return Series(
        name=name,
        k=k,
        k_meta=None if kept is None else kept // (plan.k // k),
        judged=tuple(judged_units(units, asked, votes, how)),
    )


def _plans(one: Pass, asker: Asker) -> Iterator[tuple[str, VotePlan, int]]:
    """Name, plan and k of every series out of the pass of votes."""
    times = 2 if one.both else 1
    k = one.plan.k // times
    if not asker.tempers and k == 1:
        yield ONCE, one.plan, 1
        return
    for count in range(1, k + 1):
        yield f"voting@{count}", _cut(replace(one.plan, meta=None, k_meta=None), times * count), count
    if one.plan.meta is None:
        return
    for kept in sweep(k):
        yield f"meta@{k}/{kept}", replace(one.plan, k_meta=times * kept), k
    for count in range(2, k + 1):
        yield f"meta@{count}", _cut(one.plan, times * count), count


def _cut(plan: VotePlan, k: int) -> VotePlan:
    """The plan with its first ``k`` votes; what is at most k goes down with it."""
    least = {name: min(value, k) for name, value in (("k_meta", plan.k_meta), ("min_valid", plan.min_valid)) if value}
    return replace(plan, k=k, **least)


def ordinary(series: Sequence[Series]) -> list[Series]:
    """Those that are not of another seed."""
    return [one for one in series if not is_seed(one)]
