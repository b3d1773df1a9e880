"""A judge whose accuracy is known: items say in their question how they are to be judged, and the replies obey."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from assay.core.types import Candidate, ChatPrompt, Item, Message, Request
from assay.engines.fake.engine import FakeEngine
from assay.judges import Judge, build_judge
from assay.scoring.job import JobResult, JudgingJob, Progress, run_job
from assay.scoring.scorer import Scorer
from assay.spct.general import General
from assay.spct.plan import RftPlan
from assay.spct.run import Settings, jobs
from assay.spct.work import Sorted, sort_items

POINTWISE = build_judge("pointwise")
SINGLE = build_judge("pointwise", mode="0-1")
PAIRWISE = build_judge("pairwise")

QUIET = Progress(on_start=lambda total, done: None, on_judgment=lambda judgment: None)


def item(name: str, script: str, n: int = 2, best: int = 0, **metadata: str) -> Item:
    """``script``: easy (always right), hard (never), mixed (right where the seed is even), mute (no verdict); with
    ``-told`` behind it, right when hinted."""
    texts = [f"{'GOOD' if place == best else 'BAD'} {name} {place}" for place in range(n)]
    gold = tuple(float(place == best) for place in range(n))
    return Item(
        id=name,
        messages=(Message(role="user", content=f"{name}: script={script}"),),
        candidates=tuple(Candidate(text=text) for text in texts),
        gold=gold,
        metadata=metadata,
    )


def alone(name: str, script: str, gold: int) -> Item:
    """An item with a single candidate, which is good or bad as ``gold`` says."""
    return Item(
        id=name,
        messages=(Message(role="user", content=f"{name}: script={script}"),),
        candidates=(Candidate(text="GOOD" if gold else "BAD"),),
        gold=(float(gold),),
    )


def is_right(script: str, seed: int, *, hinted: bool) -> bool:
    """Whether the scripted judge judges rightly."""
    if hinted:
        return script.endswith("-told")
    return script.startswith("easy") or (script.startswith("mixed") and seed % 2 == 0)


def reply(request: Request, index: int) -> str:
    """What the scripted judge says."""
    assert isinstance(request.prompt, ChatPrompt)
    text = request.prompt.messages[-1].text
    found = re.search(r"script=(\S+)", text)
    if found is None:
        return f"An answer to {text!r}."
    hinted = text.splitlines()[-1].startswith("Known beforehand")
    if found[1] == "mute":
        return "I have no idea."
    right = is_right(found[1], request.sampling.seed or 0, hinted=hinted)
    marks = re.findall(r"^(GOOD|BAD)\b", text, re.MULTILINE)
    if "Choice:" in text:
        shown = [place for place, mark in enumerate(marks, 1) if (mark == "GOOD") == right]
        return f"Analysis. \\boxed{{{shown[0]}}}"
    if "0 or 1 in a box" in text:
        return f"Analysis. \\boxed{{{int((marks[0] == 'GOOD') == right)}}}"
    return f"Analysis. \\boxed{{{', '.join('9' if (mark == 'GOOD') == right else '2' for mark in marks)}}}"


def sort(items: Sequence[Item], judge: Judge = POINTWISE) -> Sorted:
    """The items with the judges of a test."""
    return sort_items(items, judge, SINGLE if judge is POINTWISE else None)


def sample(found: Sorted, how: Settings, general: General | None = None) -> list[JudgingJob]:
    """Draw every sample of a build; returns the jobs that there were."""
    made: list[JudgingJob] = []
    for _, job in jobs(found, general, how):
        scorer = Scorer(FakeEngine(reply=reply), reask=0)
        asyncio.run(run_job(job, scorer, QUIET, JobResult()))
        made.append(job)
    return made


def settings(folder: Path, **plan: object) -> Settings:
    """Where and how."""
    return Settings(folder=folder, plan=RftPlan(**plan))  # type: ignore[arg-type]
