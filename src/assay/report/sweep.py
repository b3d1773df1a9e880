"""A judge under k = 1, 2, ... votes, as one table: what more votes bring, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from .bootstrap import Bootstrap
from .summary import JudgeSummary
from .words import headline, number, percent, span


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The judge with ``k`` votes."""

    k: int
    judge: JudgeSummary
    bootstrap: Bootstrap | None = None


def sweep_table(steps: Sequence[Step]) -> Table:
    """A row for each k; columns that say nothing anywhere are left out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = [_row(step) for step in steps]
    names = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    for name in names:
        table.add_column(Text(name), justify="right")
    for row in rows:
        table.add_row(*(Text(row[name]) for name in names))
    return table


def _row(step: Step) -> dict[str, str]:
    judge, voting = step.judge, step.judge.voting
    head, resampled, cost = headline(judge), step.bootstrap, judge.cost
    each = cost.tokens_each if cost else None
    tied = voting.tied if voting else None
    return {
        "k": number(step.k),
        "verdicts": percent(judge.verdicts / judge.judgments),
        head.name if head else "best on top": head.value if head else "",
        "95 %": head.span if head else "",
        "resampled": percent(resampled.interval.value) if resampled else "",
        "of resamples": span(resampled.interval) if resampled else "",
        "as ties were settled": percent(judge.settled.accuracy) if judge.settled else "",
        "ties": percent(tied.hits / tied.n) if tied and tied.n else "",
        "votes": number(round(voting.each, 2)) if voting else "",
        "dropped": percent(sum(voting.dropped.values()) / voting.votes) if voting else "",
        "tokens per verdict": number(round(each, 1)) if each is not None else "",
    }
