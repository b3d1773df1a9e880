"""Judges of known behaviour: a scripted engine behind the pairwise judge, and whole audits with it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.bench.audit.build import build
from assay.bench.audit.card import Card, make_card
from assay.bench.audit.figure import Figure
from assay.bench.audit.plan import AuditPlan
from assay.bench.audit.run import Settings, file_of, jobs
from assay.core.types import Candidate, Item, Message, Request
from assay.data import read_results
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.draws import last_text
from assay.engines.fake.engine import FakeEngine
from assay.judges import Judge, build_judge
from assay.judges.refusals import refusal
from assay.scoring.job import JobResult, Progress, run_job
from assay.scoring.scorer import Scorer

BLOCK = re.compile(r"\[\[(?:response(?: \d+)?|answer) \w+\]\]\n(.*?)\n\[\[/(?:response|answer)", re.DOTALL)
QUIET = Progress(on_start=lambda total, done: None, on_judgment=lambda judgment: None)
RIGHT = "The answer is RIGHT."

Chooser = Callable[[list[str]], int | None]
"""From the answers, as they are shown, to the one that is named; None = no verdict."""


def always_first(answers: list[str]) -> int | None:
    return 0


def longest(answers: list[str]) -> int | None:
    return max(range(len(answers)), key=lambda place: len(answers[place]))


def best(answers: list[str]) -> int | None:
    """Knows the right answer when it sees it."""
    return next((place for place, answer in enumerate(answers) if RIGHT in answer), 0)


def decorated(answers: list[str]) -> int | None:
    marked = next((place for place, answer in enumerate(answers) if "##" in answer), None)
    return best(answers) if marked is None else marked


def silent(answers: list[str]) -> int | None:
    return None


def engine(choose: Chooser) -> FakeEngine:
    def reply(request: Request, index: int) -> str:
        chosen = choose(BLOCK.findall(last_text(request.prompt)))
        return "I cannot say." if chosen is None else rf"\boxed{{{chosen + 1}}}"

    return FakeEngine(FakeConfig(model="scripted"), reply=reply)


def pairs(n: int = 40, *, own: str | None = None) -> list[Item]:
    """Pairs of a right and a wrong answer, the right one first in the file and longer in half of them.

    ``own``: a model that wrote the right answer in half of them, and the wrong one in the others.
    """
    made: list[Item] = []
    for place in range(n):
        right, wrong = f"{RIGHT} It is {place}.", f"It is {place + 1}, and that is not what was asked for here."
        if place % 2 == 0:
            right += " One may check it by counting from the other end, slowly and with care."
        authors = (own, "other") if place % 4 < 2 else ("other", own)
        made.append(
            Item(
                id=f"q{place}",
                messages=(Message(role="user", content=f"What comes before {place + 1}?"),),
                candidates=(
                    Candidate(text=right, author=authors[0] if own else None),
                    Candidate(text=wrong, author=authors[1] if own else None),
                ),
                gold=(1.0, 0.0),
            )
        )
    return made


def audited(
    folder: Path,
    make: Callable[[], FakeEngine],
    items: Sequence[Item],
    *,
    judge: Judge | None = None,
    plan: AuditPlan | None = None,
    own: Sequence[str] = (),
) -> Card:
    """A whole audit, through the scorer and its result files."""
    by, what = judge or build_judge("pairwise"), plan or AuditPlan()
    built = build(items, what, lambda item: refusal(by, item), own, alone=by.per_candidate)
    for _, job in jobs(built, what, Settings(judge=by, folder=folder)):
        asyncio.run(run_job(job, Scorer(make()), QUIET, JobResult()))
    rows = [read_results(path) if (path := file_of(folder, name)).exists() else [] for name in ("probes", "repeats")]
    return make_card(rows[0], rows[1], by, what, source="pairs", own=own)


def figure(card: Card, section: str, name: str) -> Figure:
    found = next(one for one in card.sections if one.name == section)
    return next(one for one in found.figures if one.name == name)
