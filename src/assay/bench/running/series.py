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


def series_of(
    units: Sequence[Unit], asked: Asked, asker: Asker, recorded: Mapping[Pass, Recorded], *, lenient: bool = False
) -> Iterator[Series]:
    """All series, the one that the run is about last. Passes of other seeds are ``seed-<n>``.

    Args:
        lenient: look at what the lenient parser read in every series, not only in those of all votes of a pass.
    """
    for want in _wanted(tuple(recorded), asker):
        one, plan = want.of, want.plan
        whole = plan == replace(one.plan, k_meta=plan.k_meta)
        how = Reading(judge=asker.judge, plan=plan, seed=one.seed, both=one.both, lenient=lenient or whole)
        kept = plan.kept_by_meta
        yield Series(
            name=want.name,
            k=plan.k // one.times,
            k_meta=None if kept is None else kept // one.times,
            judged=tuple(judged_units(units, asked, recorded[one], how)),
        )


@dataclass(frozen=True, slots=True)
class _Want:
    """A series: its pass, and the plan under which its votes are counted."""

    name: str
    of: Pass
    plan: VotePlan


def _wanted(passes: Sequence[Pass], asker: Asker) -> Iterator[_Want]:
    yield from (_Want(one.name, one, one.plan) for one in passes if one.name != VOTES)
    for one in passes:
        if one.name == VOTES:
            yield from (_Want(name, one, plan) for name, plan in _plans(one, asker))


def _plans(one: Pass, asker: Asker) -> Iterator[tuple[str, VotePlan]]:
    """Name and plan of every series out of the pass of votes."""
    k = one.plan.k // one.times
    if not asker.tempers and k == 1:
        yield ONCE, one.plan
        return
    for count in range(1, k + 1):
        yield f"voting@{count}", _cut(replace(one.plan, meta=None, k_meta=None), one.times * count)
    if one.plan.meta is None:
        return
    for kept in sweep(k):
        yield f"meta@{k}/{kept}", replace(one.plan, k_meta=one.times * kept)
    for count in range(2, k + 1):
        cut = _cut(one.plan, one.times * count)
        yield f"meta@{count}", replace(cut, k_meta=cut.k_meta or one.times * ((count + 1) // 2))


def _cut(plan: VotePlan, k: int) -> VotePlan:
    """The plan with its first ``k`` votes; what is at most k goes down with it."""
    least = {name: min(value, k) for name, value in (("k_meta", plan.k_meta), ("min_valid", plan.min_valid)) if value}
    return replace(plan, k=k, **least)


def is_seed(series: Series) -> bool:
    """Whether it is the pass of another seed."""
    return series.name.startswith(SEED)


def ordinary(series: Sequence[Series]) -> list[Series]:
    """Those that are not of another seed."""
    return [one for one in series if not is_seed(one)]
