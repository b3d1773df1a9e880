"""``summarise``: result rows -> the figures that tables and pages show. Pure; no clock, no file, no rendering.

Whatever speaks of verdicts, failures and agreement counts judgments; whatever speaks of cost and latency counts votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.stats import percentile
from assay.data import ResultRow
from assay.data.decisions import judgments
from assay.data.results import by_judge

from .agreement import Accepting, Ranking, of_grouped, of_ranked, of_single
from .cost import Cost, Rates, cost_of
from .voting import Settled, Voting, settled, voting_of

MOST_VALUES = 24
"""A metadata key with more different values than this is an id of some kind, not a group."""
MOST_KEYS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the votes cost. ``saved``: the share of votes that the cache, or an equal one in flight, answered; a failure
    saves nothing."""

    votes: int
    calls: int
    cached: int
    reasks: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int

    @property
    def saved(self) -> float | None:
        return self.cached / self.votes if self.votes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What was done in ``seconds`` on the wall: judgments and tokens of that time only."""

    seconds: float
    judgments: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Low, middle and high of a quantity that was measured ``n`` times."""

    n: int
    low: float
    median: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The judgments with one value of a metadata key."""

    value: str
    judgments: int
    verdicts: int
    accepting: Accepting | None
    ranking: Ranking | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSummary:
    """Everything about one judge. ``failures`` and ``flags`` are counts, the most frequent first.

    ``ranking``: over items judged as a whole, or put together again out of judgments of single candidates.
    ``settled``: what decisions are worth under their rule for ties, beside ``ranking``, where a tie is wrong.
    ``latency``: over votes that were really asked; those from the cache take no time and say nothing.
    ``groups``: per metadata key, the groups by size.
    """

    name: str
    identity: str
    model: str
    weight_version: str
    items: int
    judgments: int
    verdicts: int
    failures: Mapping[str, int]
    flags: Mapping[str, int]
    accepting: Accepting | None
    ranking: Ranking | None
    settled: Settled | None
    voting: Voting | None
    usage: Usage
    cost: Cost | None
    latency: Spread | None
    mass: Spread | None
    groups: Mapping[str, tuple[Group, ...]]

    @property
    def label(self) -> str:
        return self.name if self.model in ("", self.name) else f"{self.name} · {self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A whole run: one summary per judge, in the order of appearance."""

    judges: tuple[JudgeSummary, ...]
    items: int
    judgments: int
    first: float | None
    """Unix time of the first judgment, where the rows say it."""
    last: float | None
    speed: Speed | None


def summarise(
    rows: Iterable[ResultRow],
    *,
    seconds: float | None = None,
    judged: int | None = None,
    rates: Rates | None = None,
) -> Summary:
    """The summary of a run.

    Args:
        rows: the votes, of one judge or several.
        seconds: how long the judging took, on the wall; without it nothing is said about speed.
        judged: how many judgments were made in these seconds (a resumed run has older ones); the newest ones count.
        rates: what to reckon cost with.
    """
    every = list(rows)
    judges = tuple(_judge(model, group, rates) for (_, _, model), group in by_judge(every).items())
    times = [row.time for row in every if row.time is not None]
    return Summary(
        judges=judges,
        items=len({row.item_id for row in every}),
        judgments=sum(judge.judgments for judge in judges),
        first=min(times, default=None),
        last=max(times, default=None),
        speed=_speed(judgments(every), seconds, judged) if seconds else None,
    )


def _judge(model: str, votes: Sequence[ResultRow], rates: Rates | None) -> JudgeSummary:
    rows = judgments(votes)
    verdicts = sum(row.ok for row in rows)
    failures = Counter(row.outcome for row in rows if not row.ok)
    flags = Counter(flag for row in rows for flag in row.flags)
    return JudgeSummary(
        name=rows[0].judge,
        identity=rows[0].judge_identity,
        model=model,
        weight_version=", ".join(dict.fromkeys(row.weight_version for row in rows if row.weight_version)),
        items=len({row.item_id for row in rows}),
        judgments=len(rows),
        verdicts=verdicts,
        failures=dict(failures.most_common()),
        flags=dict(flags.most_common()),
        accepting=of_single(rows),
        ranking=of_ranked(rows) or of_grouped(rows),
        settled=settled(rows),
        voting=voting_of(votes, rows),
        usage=_usage(votes),
        cost=cost_of(votes, verdicts, rates),
        latency=_spread([row.latency_s for row in votes if not row.cached]),
        mass=_spread([row.mass for row in votes if row.mass is not None]),
        groups=_groups(rows),
    )


def _usage(rows: Sequence[ResultRow]) -> Usage:
    return Usage(
        votes=len(rows),
        calls=sum(row.calls for row in rows),
        cached=sum(row.cached for row in rows),
        reasks=sum(row.reasks for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
    )


def _speed(rows: Sequence[ResultRow], seconds: float, judged: int | None) -> Speed | None:
    newest = sorted(rows, key=lambda row: row.time or 0.0, reverse=True)[:judged]
    if not newest:
        return None
    return Speed(
        seconds=seconds,
        judgments=len(newest),
        prompt_tokens=sum(row.prompt_tokens for row in newest),
        completion_tokens=sum(row.completion_tokens for row in newest),
    )


def _spread(values: Sequence[float]) -> Spread | None:
    median, p95 = percentile(values, 50), percentile(values, 95)
    if median is None or p95 is None:
        return None
    return Spread(n=len(values), low=min(values), median=median, p95=p95)


def _groups(rows: Sequence[ResultRow]) -> dict[str, tuple[Group, ...]]:
    found: dict[str, tuple[Group, ...]] = {}
    for key in dict.fromkeys(key for row in rows for key in row.metadata):
        values: dict[str, list[ResultRow]] = {}
        for row in rows:
            value = row.metadata.get(key)
            if _names_a_group(value):
                values.setdefault(str(value), []).append(row)
        if 2 <= len(values) <= MOST_VALUES and len(values) * 2 <= len({row.item_id for row in rows}):
            found[key] = tuple(_group(value, values[value]) for value in sorted(values))
        if len(found) == MOST_KEYS:
            break
    return found


def _group(value: str, rows: Sequence[ResultRow]) -> Group:
    return Group(
        value=value,
        judgments=len(rows),
        verdicts=sum(row.ok for row in rows),
        accepting=of_single(rows),
        ranking=of_ranked(rows) or of_grouped(rows),
    )


def _names_a_group(value: Any) -> bool:
    return isinstance(value, str | bool | int) and value != "" and len(str(value)) <= 60
