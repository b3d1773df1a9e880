"""A whole run over many items: start the backend, judge what is not judged yet, keep every row, close everything.

What ``assay judge`` and the benchmarks do. Does not own flags, progress bars or tables (``cli``, ``report``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.types import Item
from assay.data import ResultRow
from assay.judges.base import Judge
from assay.voting.plan import VotePlan
from assay.voting.spoken import plan_to_json

from .batch import Judging, Skipped, Unit, judge_units, units
from .judgment import Judgment
from .records import vote_rows
from .runfile import RunFile, RunHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingJob:
    """What to judge, by what, into which file."""

    judge: Judge
    items: Sequence[Item]
    out: Path
    seed: int = 0
    concurrency: int = 32
    deadline_s: float = 300.0
    fresh: bool = False
    retry_failed: bool = False
    plan: VotePlan | None = None
    """How each judgment is voted on; None = one plain vote."""
    kept: Callable[[ResultRow], ResultRow] | None = None
    """What is written of a row, where not all of it may be (text that must not appear in the open)."""


@dataclass(slots=True, kw_only=True)
class JobResult:
    """What this call did. Filled while the job runs, so that a stop loses nothing; the rows are in the result file."""

    skipped: list[Skipped] = field(default_factory=list[Skipped])
    resumed: int = 0
    """Judgments that an earlier call had made."""
    judged: int = 0
    """Judgments that this call made."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Told once when the work is known, then after every judgment."""

    on_start: Callable[[int, int], None]
    """(judgments in all, judgments that are there already)"""
    on_judgment: Callable[[Judgment], None]


async def run_job(job: JudgingJob, backend: Judging, progress: Progress, result: JobResult) -> None:
    """Run the job; ``result`` is up to date whenever this ends, also by an error or a cancellation.

    Raises:
        InputError, StartError, OutputError: see ``RunFile`` and the backend.
    """
    try:
        facts = await backend.start(job.plan)
        header = RunHeader(
            judge=job.judge.identity,
            model=facts.model,
            weight_version=facts.weight_version,
            sampling=facts.sampling,
            reask=facts.reask,
            seed=job.seed,
            voting={} if job.plan is None else plan_to_json(job.plan),
            meta=facts.meta,
        )
        with RunFile(job.out, header, fresh=job.fresh, retry_failed=job.retry_failed) as file:
            await _judge(job, backend, progress, result, file)
    finally:
        await backend.close()


async def _judge(job: JudgingJob, backend: Judging, progress: Progress, result: JobResult, file: RunFile) -> None:
    found = list(units(job.judge, job.items))
    result.skipped += [unit for unit in found if isinstance(unit, Skipped)]
    every = [unit for unit in found if isinstance(unit, Unit)]
    todo = [unit for unit in every if not file.has(unit.subject, unit.content_hash)]
    result.resumed = len(every) - len(todo)
    progress.on_start(len(every), result.resumed)
    begin = time.perf_counter()

    def keep(judgment: Judgment) -> None:
        for row in vote_rows(judgment, base_seed=job.seed):
            file.append(row if job.kept is None else job.kept(row))
        result.judged += 1
        progress.on_judgment(judgment)

    try:
        await judge_units(
            backend,
            job.judge,
            todo,
            concurrency=job.concurrency,
            deadline_s=job.deadline_s,
            seed=job.seed,
            on_judgment=keep,
            plan=job.plan,
        )
    finally:
        result.seconds = time.perf_counter() - begin
        file.close(unit.subject for unit in every)
