"""What a report says about a benchmark of a run, besides scores: in words and figures that page, Markdown and terminal
share. Pure, but for the tables that it looks into.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.intervals import Rate
from assay.core.types import Failure
from assay.voting.bias import PlaceBias, bias_by_place

from ..words import duration, number, percent, span
from .bias import LengthBias, LengthCorrelation, length_bias, length_correlation
from .figures import points
from .run import VOTES, BenchmarkRun, Run
from .score import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure with its name, and what is said beside it."""

    name: str
    value: str
    aside: str = ""


def run_facts(run: Run) -> list[Fact]:
    """What was asked of whom."""
    told = run.benchmarks[0].score.asked
    found = [Fact(name="benchmarks" if len(run.benchmarks) > 1 else "benchmark", value=number(len(run.benchmarks)))]
    found.append(Fact(name="questions", value=number(sum(one.score.units for one in run.benchmarks))))
    if told.get("k"):
        found.append(Fact(name="votes each", value=number(told["k"])))
    if told.get("meta"):
        found.append(Fact(name="meta RM", value=str(told["meta"])))
    found.append(Fact(name="seed", value=str(told.get("seed", 0))))
    return found


def score_facts(one: BenchmarkRun) -> list[Fact]:
    """Of what the score is, and what is beside it: ties, failures, votes without a verdict, orders, seeds."""
    score = one.score
    found = [Fact(name="score of", value=score.of, aside=f"{number(score.cases)} cases")]
    for series in score.series:
        if series.name == score.of:
            found += [
                Fact(name=f"over {gain.over}", value=f"{gain.value:+.1f}", aside=_signed(gain.interval))
                for gain in series.gains
            ]
    share = percent(score.tied / score.units) if score.units else ""
    found.append(Fact(name="tied answers", value=number(score.tied), aside=share))
    failed = sum(score.failures.values())
    found.append(Fact(name="no answer", value=number(failed), aside=percent(failed / score.units) if failed else ""))
    lost = votes_lost(one)
    if lost is not None and one.pass_name == VOTES:
        found.append(Fact(name="votes without a verdict", value=number(lost.hits), aside=percent(lost.hits / lost.n)))
    if score.orders is not None:
        agree = "" if score.orders.agree is None else f"{points(score.orders.agree)} % agree"
        found.append(
            Fact(
                name="each order alone",
                value=f"{points(score.orders.first)}, {points(score.orders.second)}",
                aside=agree,
            )
        )
    if score.seeds is not None:
        moved = "" if score.seeds.changed is None else f"{points(score.seeds.changed)} % of answers differ"
        values = ", ".join(points(value) for value in score.seeds.scores.values())
        found.append(Fact(name="other seeds, one order", value=values, aside=moved))
    return [*found, *_cost(one)]


def otherwise(one: BenchmarkRun) -> dict[str, dict[str, str]]:
    """The same answers under the other rules for ties and failures, each with the score that it gives.

    The one that the score is under is marked with a star.
    """
    counting = one.score.counting
    ties = {_starred(name, counting.ties): points(value) for name, value in one.score.by_ties.items()}
    failures = {_starred(name, counting.failures): points(value) for name, value in one.score.by_failures.items()}
    return {name: told for name, told in (("ties", ties), ("failures", failures)) if told}


def caveats(one: BenchmarkRun) -> list[str]:
    """What a reader must know before the score: what was not asked, not read, not counted."""
    score, told = one.score, one.score.asked
    found: list[str] = []
    if told.get("limit"):
        found.append(f"only the first {told['limit']} cases of each subset were asked: no official score")
    if score.missing_subsets:
        found.append(
            f"{number(len(score.missing_subsets))} official subsets are missing: {_some(score.missing_subsets)}"
        )
    if score.unofficial_subsets:
        found.append(f"subsets that are not official count: {_some(score.unofficial_subsets)}")
    faults, incomplete = told.get("faults", 0), len(score.incomplete)
    if faults:
        found.append(f"{number(faults)} records could not be read")
    if incomplete:
        found.append(f"{number(incomplete)} cases are incomplete and do not count")
    return found


def remarks(one: BenchmarkRun) -> list[str]:
    """What is left out by rule."""
    left: Mapping[str, Any] = one.score.asked.get("left_out") or {}
    found = [f"{number(count)} records are left out, as the benchmark does: {reason}" for reason, count in left.items()]
    if one.score.excluded:
        found.append(f"{number(len(one.score.excluded))} cases are left out by the rule for failures")
    return found


def is_official(one: BenchmarkRun) -> bool:
    """Whether all that the official score is made of was asked."""
    return not (one.score.asked.get("limit") or one.score.missing_subsets or one.score.unofficial_subsets)


def votes_lost(one: BenchmarkRun) -> Rate | None:
    """Votes without a verdict, of all votes that the score is of."""
    every = [vote for votes in one.votes for vote in votes]
    return Rate(hits=sum(lost_votes(one).values()), n=len(every)) if every else None


def lost_votes(one: BenchmarkRun) -> dict[str, int]:
    """Votes without a verdict, by kind."""
    outcomes = (vote.outcome for votes in one.votes for vote in votes)
    return dict(Counter(str(one.kind) for one in outcomes if isinstance(one, Failure)).most_common())


def length_facts(one: BenchmarkRun) -> list[Fact]:
    """Length bias, in words; empty where there is nothing to see it in."""
    choices, single = length_bias(one.answers), length_correlation(one.answers)
    return [*_choices(choices), *_single(single)]


def place_facts(one: BenchmarkRun) -> list[Fact]:
    """Position bias: how often the best answer stood at each place."""
    return [
        Fact(
            name=f"best at place {place.place + 1}",
            value=percent(place.mean),
            aside=f"{place.low * 100:.1f}–{place.high * 100:.1f}, fair {percent(place.fair, 0)}"
            if place.items > 1
            else f"fair {percent(place.fair, 0)}",
        )
        for place in places(one)
    ]


def places(one: BenchmarkRun) -> tuple[PlaceBias, ...]:
    """Position bias over items of the most frequent number of answers; empty where orders are fixed."""
    shown = [votes for votes in one.votes if len(votes[0].draw.order) > 1 and votes[0].candidate is None]
    if not shown or one.score.asked.get("orders") == "fixed":
        return ()
    n = Counter(len(votes[0].draw.order) for votes in shown).most_common(1)[0][0]
    return bias_by_place(votes for votes in shown if len(votes[0].draw.order) == n)


def _choices(bias: LengthBias | None) -> Iterator[Fact]:
    if bias is None:
        return
    aside = f"{number(bias.left_out)} units without one" if bias.left_out else ""
    yield Fact(name="prefers the longer answer", value=_rate(bias.liked), aside=_over(bias.liked, aside))
    yield Fact(name="the right one is longer", value=_rate(bias.right), aside=_over(bias.right))
    yield Fact(name="right where it is longer", value=_rate(bias.when_longer), aside=_over(bias.when_longer))
    yield Fact(name="right where it is shorter", value=_rate(bias.when_shorter), aside=_over(bias.when_shorter))


def _single(found: LengthCorrelation | None) -> Iterator[Fact]:
    if found is None:
        return
    for name, value in (("length with score", found.score), ("length with gold", found.gold)):
        told = "–" if value is None else f"{value:+.2f}"
        yield Fact(name=f"rank correlation of {name}", value=told, aside=f"n = {number(found.n)}")


def _rate(rate: Rate) -> str:
    return percent(rate.hits / rate.n) if rate.n else "–"


def _over(rate: Rate, aside: str = "") -> str:
    interval = rate.interval
    told = f"n = {number(rate.n)}" if interval is None else f"{span(interval)}, n = {number(rate.n)}"
    return f"{told}, {aside}" if aside else told


def _signed(interval: Span | None) -> str:
    return "" if interval is None else f"{interval.low:+.1f} to {interval.high:+.1f}"


def grouped(lines: Iterable[tuple[str, str]]) -> list[str]:
    """Lines with what each is about; those that say the same about several say it once."""
    found: dict[str, list[str]] = {}
    for about, line in lines:
        found.setdefault(line, []).append(about)
    return [f"{', '.join(dict.fromkeys(abouts))}: {line}" for line, abouts in found.items()]


def _some(names: Sequence[str], most: int = 6) -> str:
    told = ", ".join(names[:most])
    return f"{told} and {number(len(names) - most)} more" if len(names) > most else told


def _starred(name: str, used: str) -> str:
    return f"{name}*" if name == used else name


def _cost(one: BenchmarkRun) -> Iterator[Fact]:
    passes, costs = one.data.get("passes") or {}, one.data.get("cost") or {}
    seconds = sum(float(told.get("seconds") or 0.0) for told in passes.values())
    tokens = sum(int(told.get("tokens") or 0) for told in costs.values())
    money = [float(told["money"]) for told in costs.values() if told.get("money") is not None]
    if tokens:
        aside = f"{number(sum(int(told.get('calls') or 0) for told in costs.values()))} calls"
        yield Fact(name="tokens, all passes", value=number(tokens), aside=aside)
    if money:
        yield Fact(name="cost, all passes", value=f"{sum(money):,.2f}")
    if seconds:
        yield Fact(name="time, all passes", value=duration(seconds), aside="in the last call")
