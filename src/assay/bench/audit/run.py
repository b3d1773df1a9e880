"""What an audit asks, as jobs over result files that resume: what is asked once, and what is asked several times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.core.types import Item
from assay.judges.base import Judge
from assay.scoring.job import JudgingJob
from assay.voting.plan import VotePlan

from .build import Built
from .plan import AuditPlan

Name = Literal["probes", "repeats"]

CARD_JSON, CARD_MD, CARD_HTML = "card.json", "card.md", "card.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the judge is asked."""

    judge: Judge
    folder: Path
    concurrency: int = 32
    deadline_s: float = 300.0
    fresh: bool = False
    retry_failed: bool = False


def file_of(folder: Path, name: Name) -> Path:
    """Where the rows of a job are."""
    return folder / f"{name}.parquet"


def jobs(built: Built, plan: AuditPlan, how: Settings) -> Iterator[tuple[Name, JudgingJob]]:
    """The jobs that have something to ask.

    Candidates stand as they do in the item, since their order is part of what is asked. ``repeats`` are votes of one
    judgment: each has a draw of its own, so that none is answered by another; they are to be asked at temperature 0.
    """
    both: tuple[tuple[Name, tuple[Item, ...], int], ...] = (
        ("probes", built.probes, 1),
        ("repeats", built.repeats, plan.repeats),
    )
    for name, items, votes in both:
        if items:
            yield (
                name,
                JudgingJob(
                    judge=how.judge,
                    items=items,
                    out=file_of(how.folder, name),
                    seed=plan.seed,
                    concurrency=how.concurrency,
                    deadline_s=how.deadline_s,
                    fresh=how.fresh,
                    retry_failed=how.retry_failed,
                    plan=VotePlan(k=votes, orders="fixed"),
                ),
            )
