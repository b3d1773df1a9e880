"""What ``assay judge`` does with its flags: load, build, run, show. Every decision is made by the layers below."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rich.markup import escape

from assay.core import log
from assay.core.errors import InputError
from assay.data import FieldMap, Items, load_items, read_results
from assay.judges.refusals import counted
from assay.scoring.job import JobResult, JudgingJob, Progress, run_job

from .building import backend, judge_of, needs_of, prepared, refuse_given
from .diffing import diff_runs
from .ending import end
from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .progress import judging_progress
from .replaying import replay_run
from .showing import console, rates_of, say, show_rows

DEFAULT_OUT = Path("judged.parquet")


def judge(flags: JudgeFlags) -> None:
    """Run the command: new judgments, or with ``--replay`` and ``--diff`` recorded ones."""
    log.setup("warning")
    if flags.diff is not None:
        diff_runs(flags, flags.diff)
    elif flags.replay is not None:
        replay_run(flags, flags.replay)
    elif flags.file is None:
        raise InputError("name the FILE to judge, or a recorded run: --replay RUN, --diff BEFORE AFTER")
    else:
        judge_file(flags, flags.file)


def judge_file(flags: JudgeFlags, source: str) -> None:
    """Judge ``source``; ends the process with the exit code of ``ending``, 130 after Ctrl-C."""
    out = flags.out or DEFAULT_OUT
    refuse_given(flags, ("k_sweep", "bootstrap"), "is for recorded judgments: name them with --replay")
    if flags.meta is None:
        refuse_given(flags, ("meta_options",), "needs a meta RM: name its model with --meta")
    written = (("--out", out), ("--export-to", flags.export_to), ("--report", flags.report))
    refuse_overwriting((source, flags.judge, flags.principles), written)
    rates_of(flags)  # what is wrong with a price is said before anything is judged
    judged_by = judge_of(flags)
    items = load_items(source, FieldMap.parse(flags.field), need=needs_of(flags))
    job = JudgingJob(
        judge=judged_by,
        items=prepared(flags, items.items[: flags.limit]),
        out=out,
        seed=flags.seed,
        concurrency=flags.concurrency,
        deadline_s=flags.deadline_s,
        fresh=flags.fresh,
        retry_failed=flags.retry_failed,
        plan=flags.plan(),
    )
    console.print(
        f"[bold]{escape(items.name)}[/]: {len(job.items)} items ({escape(f'{items.shape}: {items.fields}')})",
        highlight=False,
        soft_wrap=True,
    )
    result = JobResult()
    stopped = False
    try:
        with judging_progress(judged_by.name) as progress:
            asyncio.run(_run(flags, job, progress, result))
    except KeyboardInterrupt:
        stopped = True
    kept, verdicts = _show(flags, job, items, result, stopped=stopped)
    if stopped:
        say(f"stopped: {kept} judgments are kept in {out}; the same command goes on from there")
        sys.exit(130)
    end(skipped=bool(items.bad or result.skipped), made=verdicts)


async def _run(flags: JudgeFlags, job: JudgingJob, progress: Progress, result: JobResult) -> None:
    # Built here: an engine and a client belong to the event loop that they are used in.
    await run_job(job, backend(flags, job.judge), progress, result)


def _show(flags: JudgeFlags, job: JudgingJob, items: Items, result: JobResult, *, stopped: bool) -> tuple[int, int]:
    """Show what came of it; returns how many judgments there are, and how many of them are verdicts."""
    mine = {item.id for item in job.items}
    found = read_results(job.out) if job.out.exists() else []
    rows = [row for row in found if row.item_id in mine]
    for bad in items.bad:
        console.print(f"[yellow]skipped[/] line {bad.line}: {escape(bad.reason)}", highlight=False, soft_wrap=True)
    for skipped in result.skipped:
        told = escape(f"{skipped.item_id}: {skipped.reason}")
        console.print(f"[yellow]skipped[/] item {told}", highlight=False, soft_wrap=True)
    if not rows and stopped:
        return 0, 0
    if not rows:
        why = counted({one.item_id: one.reason for one in result.skipped})
        raise InputError(f"nothing was judged: judge {job.judge.name!r} can take no item of {flags.file!r}: {why}")
    resumed = f", {result.resumed} of them from an earlier call" if result.resumed else ""
    others = f"; {len(found) - len(rows)} votes on other items are in it too" if len(found) > len(rows) else ""
    made = show_rows(
        flags,
        rows,
        job.items,
        out=job.out,
        about=f"{flags.judge or job.judge.name} on {flags.file}",
        seconds=result.seconds,
        judged=result.judged,
        note=resumed + others,
    )
    return len(made), sum(row.ok for row in made)
