"""What ``assay data answer`` does: prompts answered by a model as they are, as rows to train on."""

from __future__ import annotations

import asyncio
import sys

from assay.core import log
from assay.core.errors import InputError
from assay.data import read_results, write_jsonl
from assay.scoring.job import JobResult, JudgingJob, run_job
from assay.spct.answers import Answerer
from assay.spct.general import load_general, mixed

from .building import backend
from .data import AnswerFlags
from .ending import end
from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .progress import judging_progress
from .showing import say

ANSWERS = ".answers.parquet"


def answer_prompts(flags: AnswerFlags) -> None:
    """Run the command; ends the process with the exit code of ``ending``, 130 after Ctrl-C."""
    log.setup("warning")
    if flags.out.suffix != ".jsonl":
        raise InputError(f"--out {str(flags.out)!r} must end in .jsonl")
    answers = flags.out.with_suffix(ANSWERS)
    refuse_overwriting((flags.prompts,), (("--out", flags.out), ("the answers of --out", answers)))
    general = load_general(flags.prompts)
    job = JudgingJob(
        judge=Answerer(),
        items=tuple(row.item for row in general.rows if row.completion is None),
        out=answers,
        seed=flags.seed,
        concurrency=flags.concurrency,
        deadline_s=flags.deadline_s,
        fresh=flags.fresh,
    )
    if job.items:
        try:
            asyncio.run(_run(flags, job))
        except KeyboardInterrupt:
            say(f"stopped: the answers are kept in {job.out}; the same command goes on from there")
            sys.exit(130)
    recorded = read_results(job.out) if job.out.exists() else []
    found = {row.item_id: row for row in recorded}
    rows, counts = mixed(general.rows, found, general, len(general.rows))
    write_jsonl(flags.out, rows)
    failed = f", {counts.failed} answers are empty, cut off or missing" if counts.failed else ""
    say(f"{len(rows)} rows in {flags.out}: {counts.distilled} answered by the model, {counts.given} as given{failed}")
    end(skipped=False, made=len(rows))


async def _run(flags: AnswerFlags, job: JudgingJob) -> None:
    own = {name: value for name, value in flags if name in JudgeFlags.model_fields and name != "out"}
    with judging_progress("answers") as progress:
        await run_job(job, backend(JudgeFlags(**own, reask=0), job.judge), progress, JobResult())
