"""The figures of one judge as short texts, in their order; the terminal and the page show the same ones."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.intervals import Interval, Rate

from .agreement import Accepting, Ranking
from .cost import Cost
from .summary import JudgeSummary, Spread, Usage
from .voting import Settled, Voting
from .words import duration, number, percent, power, span


class Figure(NamedTuple):
    """A value and what stands beside it (interval, counts). Both are empty where the judge has no such figure."""

    value: str = ""
    aside: str = ""


def figures(judge: JudgeSummary) -> dict[str, Figure]:
    """Every figure by name; the same names in the same order for every judge."""
    return {
        "items": Figure(number(judge.items)),
        "judgments": Figure(number(judge.judgments)),
        "verdicts": Figure(number(judge.verdicts), percent(judge.verdicts / judge.judgments)),
        **_accepting(judge.accepting),
        **_ranking(judge.ranking),
        **_settled(judge.settled),
        **_voting(judge.voting),
        **_usage(judge.usage),
        **_cost(judge.cost),
        "latency p50, p95": _latency(judge.latency),
        "choice mass, median": _mass(judge.mass),
    }


def _accepting(single: Accepting | None) -> dict[str, Figure]:
    auc = single.auc if single else None
    return {
        "agreement with gold": _hits(
            Rate(hits=single.hits, n=single.n) if single and single.hits is not None else None
        ),
        "balanced accuracy": _rate(single.balanced if single else None),
        "right ones accepted": _hits(single.accepted if single else None),
        "wrong ones refused": _hits(single.refused if single else None),
        "AUC": Figure(f"{auc.value:.3f}", f"{auc.low:.3f}–{auc.high:.3f}") if auc else Figure(),
    }


def _ranking(ranked: Ranking | None) -> dict[str, Figure]:
    left_out = (
        ""
        if ranked is None
        else ", ".join(
            f"{number(count)} {what}"
            for count, what in ((ranked.silent, "no best"), (ranked.incomplete, "incomplete"))
            if count
        )
    )
    return {
        "best on top": _rate(ranked.right.interval if ranked else None),
        "a blind order would get": Figure(percent(ranked.chance), f"n = {number(ranked.right.n)}")
        if ranked
        else Figure(),
        "tied, counted wrong": _hits(ranked.tied if ranked and ranked.tied.hits else None),
        "items left out": Figure(left_out),
    }


def _settled(found: Settled | None) -> dict[str, Figure]:
    """Beside "best on top", where a tie is wrong."""
    name = "right as ties were settled"
    return {name: Figure(percent(found.accuracy), f"ties {found.ties}, n = {number(found.n)}") if found else Figure()}


def _voting(voting: Voting | None) -> dict[str, Figure]:
    names = (
        "votes per judgment",
        "stopped early",
        "votes dropped",
        "ties",
        "kept by the meta RM",
        "best stood at place",
    )
    if voting is None:
        return dict.fromkeys(names, Figure())
    dropped = voting.dropped
    kinds = ", ".join(f"{kind} {number(count)}" for kind, count in dropped.items())
    unweighed = f"; {number(voting.unweighed)} without a logit" if voting.unweighed else ""
    kept = voting.kept
    shown = (
        Figure(number(voting.each), voting.plan),
        _hits(voting.stopped if voting.stopped.hits else None),
        Figure(percent(sum(dropped.values()) / voting.votes), kinds) if dropped else Figure(),
        _hits(voting.tied if voting.tied.n else None),
        Figure(_hits(kept).value, _hits(kept).aside + unweighed) if kept else Figure(),
        _bias(voting),
    )
    return dict(zip(names, shown, strict=True))


def _bias(voting: Voting) -> Figure:
    """Where the best candidate stood; what a judge without position bias would say, and how sure the first place is."""
    if not voting.bias:
        return Figure()
    first = voting.bias[0]
    sure = "" if first.items < 2 else f", first place {first.low * 100:.1f}–{first.high * 100:.1f}"
    places = ", ".join(percent(place.mean) for place in voting.bias)
    return Figure(places, f"fair {percent(first.fair)} each{sure}")


def _cost(cost: Cost | None) -> dict[str, Figure]:
    flops = cost.flops if cost else None
    each = cost.tokens_each if cost else None
    money = cost.money if cost else None
    return {
        "tokens per verdict": Figure(number(round(each, 1))) if each is not None else Figure(),
        "FLOPs": Figure(power(flops.spent), f"prefill {power(flops.prefill)}, decode {power(flops.decode)}")
        if flops
        else Figure(),
        "FLOPs saved by the prefix cache": Figure(
            power(flops.saved), percent(flops.saved / (flops.prefill + flops.saved))
        )
        if flops and flops.saved
        else Figure(),
        "FLOPs per verdict": Figure(power(cost.flops_each)) if cost and cost.flops_each is not None else Figure(),
        "money": Figure(f"{money:,.4g}") if money is not None else Figure(),
        "money per verdict": Figure(f"{cost.money_each:,.4g}") if cost and cost.money_each is not None else Figure(),
    }


def _usage(usage: Usage) -> dict[str, Figure]:
    saved = Figure(percent(usage.saved)) if usage.saved else Figure()
    reused = f"{percent(usage.cached_tokens / usage.prompt_tokens)} reused" if usage.cached_tokens else ""
    return {
        "judge calls": Figure(number(usage.calls)),
        "judge calls saved": saved,
        "asked again": Figure(number(usage.reasks)) if usage.reasks else Figure(),
        "tokens read": Figure(number(usage.prompt_tokens), reused) if usage.prompt_tokens else Figure(),
        "tokens written": Figure(number(usage.completion_tokens)) if usage.completion_tokens else Figure(),
    }


def _rate(interval: Interval | None) -> Figure:
    """A share in percent, with its interval."""
    return Figure(percent(interval.value), span(interval)) if interval else Figure()


def _hits(counted: Rate | None) -> Figure:
    if counted is None or not counted.n:
        return Figure()
    return Figure(percent(counted.hits / counted.n), f"{number(counted.hits)} of {number(counted.n)}")


def _latency(latency: Spread | None) -> Figure:
    return Figure(f"{duration(latency.median)}, {duration(latency.p95)}") if latency else Figure()


def _mass(mass: Spread | None) -> Figure:
    return Figure(f"{mass.median:.2f}", f"least {mass.low:.2f}") if mass else Figure()
