"""Replays of a recording under k = 1..8 and three parsers: how long they take, and how often an engine is called.

    python benchmarks/replay.py [--items 2000] [--k 8]

The recording is made first, by the fake engine, and written as ``assay judge`` writes it. One of the three parsers is
the judge's own, one is lenient, and one is a parser of this file (the last n numbers of the text), as a user tries it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from assay.core.types import Candidate, Completion, Draw, Failure, FailureKind, Item, Message, Outcome, Verdict
from assay.data import read_results
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import Judge, build_judge
from assay.judges.pointwise import PointwiseJudge
from assay.report.summary import summarise
from assay.report.sweep import Step, sweep_table
from assay.scoring.job import JobResult, JudgingJob, Progress, run_job
from assay.scoring.replay import read_again, recorded_plan, recordings, replay, replayed_rows
from assay.scoring.scorer import Scorer
from assay.voting.plan import VotePlan

ABOUT = "The first response names its source and the second one does not; both answer what was asked. " * 8
ENDS = (
    r"\boxed{8, 3}",
    r"\boxed{7, 6}",
    r"\boxed{4, 9}",
    r"\boxed{6, 6}",
    r"\boxed{９，2}",
    "Scores: 8, 5",
    "I am not sure.",
)


@dataclass(frozen=True, slots=True)
class LastNumbers(PointwiseJudge):
    """Reads the last n numbers of a text, boxed or not."""

    def __post_init__(self) -> None:
        super(LastNumbers, self).__post_init__()
        object.__setattr__(self, "identity", f"{self.asks}-last-numbers")

    def read(self, item: Item, draw: Draw, completions: Sequence[Completion]) -> Outcome:
        found = re.findall(r"\d+", completions[0].text)[-item.n :]
        if len(found) < item.n:
            return Failure(kind=FailureKind.PARSE_ERROR, detail="too few numbers", text=completions[0].text)
        return Verdict(scores=draw.undo(tuple(map(float, found))), text=completions[0].text)


def items(count: int) -> list[Item]:
    def one(number: int) -> Item:
        return Item(
            id=f"q{number}",
            messages=(Message(role="user", content=f"Question {number}: where does the sea end?"),),
            candidates=(Candidate(text=f"At the coast ({number})."), Candidate(text="It does not.")),
            gold=(1.0, 0.0),
        )

    return [one(number) for number in range(count)]


async def record(out: Path, things: list[Item], plan: VotePlan) -> int:
    """The recording; returns how many calls of the engine it took."""
    engine = FakeEngine(FakeConfig(replies=tuple(ABOUT + end for end in ENDS)))
    scorer = Scorer(engine, reask=0)
    job = JudgingJob(judge=build_judge("pointwise"), items=things, out=out, plan=plan, concurrency=64)
    quiet = Progress(on_start=lambda _all, _done: None, on_judgment=lambda _: None)
    await run_job(job, scorer, quiet, JobResult())
    return scorer.counts.usage.calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--k", type=int, default=8)
    options = parser.parse_args()
    console = Console(highlight=False)
    parsers: dict[str, Judge] = {
        "strict": build_judge("pointwise"),
        "lenient": build_judge("pointwise", lenient=True),
        "last numbers": LastNumbers(),
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.parquet"
        clock = Clock()
        calls = asyncio.run(record(out, items(options.items), VotePlan(k=options.k)))
        console.print(f"recorded {options.items:,} items, {calls:,} engine calls, {clock}")
        with _no_engine() as called:
            _replays(console, out, parsers)
        console.print(f"engine calls while replaying: {called[0]}")


def _replays(console: Console, out: Path, parsers: dict[str, Judge]) -> None:
    whole = Clock()
    rows = read_results(out)
    recorded = recordings(rows)
    console.print(f"read {len(rows):,} votes, {whole}")
    plan = recorded_plan(recorded)
    assert plan is not None
    for name, judge in parsers.items():
        clock = Clock()
        read = read_again(recorded, judge)
        steps: list[Step] = []
        made: list[Any] = []
        for k in range(1, plan.k + 1):
            made = replayed_rows(read, replay(read, judge, replace(plan, k=k)))
            steps.append(Step(k=k, judge=summarise(made).judges[0]))
        console.print(f"\n{name}: k = 1..{plan.k} of {len(recorded):,} judgments, {clock}")
        if judge.identity == rows[0].judge_identity:
            equal = [row.decision for row in made] == [row.decision for row in rows]
            console.print(f"k = {plan.k} {'equals the recorded decisions' if equal else 'DIFFERS FROM THE RECORD'}")
        console.print(sweep_table(steps))
    console.print(f"\nall together {whole}")


class Clock:
    """Seconds since it was made: on the wall, and of this process (a busy machine makes the first ones many)."""

    def __init__(self) -> None:
        self._begin = time.perf_counter(), time.process_time()

    def __str__(self) -> str:
        wall, own = time.perf_counter() - self._begin[0], time.process_time() - self._begin[1]
        return f"{wall:.1f} s ({own:.1f} s CPU)"


class _no_engine:
    """Counts the calls of every fake engine inside."""

    def __enter__(self) -> list[int]:
        self._generate, counted = FakeEngine.generate, [0]

        async def generate(engine: FakeEngine, *arguments: Any) -> Any:
            counted[0] += 1
            return await self._generate(engine, *arguments)

        FakeEngine.generate = generate  # type: ignore[method-assign]
        return counted

    def __exit__(self, *_: object) -> None:
        FakeEngine.generate = self._generate  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
