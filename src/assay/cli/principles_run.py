"""What ``assay principles`` does with its flags: have principles written, or take them from a recorded run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from assay.core import log
from assay.core.errors import InputError
from assay.data import FieldMap, Items, load_items, read_results, write_jsonl
from assay.data.principles import prompts, stored_row, take
from assay.judges.principle_writer import PrincipleWriter
from assay.scoring.job import JobResult, JudgingJob, Progress, run_job

from .building import backend
from .ending import end
from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .principles import PrinciplesFlags
from .progress import judging_progress

console = Console()

_SHARED = ("engine", "model", "url", "api_key", "engine_options", "sampling", "reask")
"""The flags about who answers, which mean the same as those of ``assay judge``."""


def write_principles(flags: PrinciplesFlags) -> None:
    """Run the command; ends the process with the exit code of ``ending``, 130 after Ctrl-C."""
    log.setup("warning")
    refuse_overwriting((flags.file,), (("--out", flags.out), ("the answers of --out", _answers(flags))))
    if flags.judged:
        _take(flags)
    elif flags.right_only:
        raise InputError("--right-only compares recorded verdicts with gold: it needs --judged and a result file")
    else:
        _ask(flags)


def _answers(flags: PrinciplesFlags) -> Path:
    return flags.out.with_name(f"{flags.out.name}.run.parquet")


def _take(flags: PrinciplesFlags) -> None:
    _refuse_asking(flags)
    taken = take(read_results(flags.file), right_only=flags.right_only)
    _store(flags.out, taken.by_prompt.values())
    left_out = f"left out: {taken.wrong} not right, {taken.unread} without principles"
    console.print(f"{len(taken.by_prompt)} prompts in {flags.out} ({left_out})", highlight=False, soft_wrap=True)


def _ask(flags: PrinciplesFlags) -> None:
    items = load_items(flags.file, FieldMap.parse(flags.field), need=())
    job = JudgingJob(
        judge=PrincipleWriter(language=flags.language),
        items=prompts(items.items[: flags.limit]),
        out=_answers(flags),
        seed=flags.seed,
        concurrency=flags.concurrency,
        deadline_s=flags.deadline_s,
        fresh=flags.fresh,
        retry_failed=flags.retry_failed,
    )
    result = JobResult()
    try:
        with judging_progress(job.judge.name) as progress:
            asyncio.run(_run(flags, job, progress, result))
    except KeyboardInterrupt:
        console.print(f"stopped: the same command goes on from {job.out}", highlight=False, soft_wrap=True)
        sys.exit(130)
    _tell(flags, items, job, result)


async def _run(flags: PrinciplesFlags, job: JudgingJob, progress: Progress, result: JobResult) -> None:
    # Built here: an engine belongs to the event loop that it is used in.
    same = {name: value for name, value in flags if name in _SHARED}
    await run_job(job, backend(JudgeFlags(file=flags.file, **same), job.judge), progress, result)


def _tell(flags: PrinciplesFlags, items: Items, job: JudgingJob, result: JobResult) -> None:
    rows = {row.item_id: row for row in read_results(job.out)}
    asked = [(item, rows[item.id]) for item in job.items if item.id in rows]
    told = [found for item, row in asked if row.ok and (found := stored_row(item, row)) is not None]
    for bad in items.bad:
        console.print(f"[yellow]skipped[/] line {bad.line}: {escape(bad.reason)}", highlight=False, soft_wrap=True)
    for skipped in result.skipped:
        console.print(f"[yellow]skipped[/] {escape(skipped.reason)}", highlight=False, soft_wrap=True)
    for item, row in asked:
        if not row.ok:
            about = escape(f"{item.question[:60]!r}: {row.outcome}: {row.detail}")
            console.print(f"[yellow]failed[/] {about}", highlight=False, soft_wrap=True)
    _store(flags.out, told)
    console.print(
        f"{len(told)} prompts in {flags.out} ({result.resumed} from an earlier call, {len(asked) - len(told)} failed)",
        highlight=False,
        soft_wrap=True,
    )
    end(skipped=bool(items.bad or result.skipped), made=len(told))


def _store(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_jsonl(path, rows)


def _refuse_asking(flags: PrinciplesFlags) -> None:
    """Flags about who writes have no effect where nobody does: refused, not dropped."""
    for name in ("engine", "model", "url", "engine_options", "sampling", "limit", "fresh", "retry_failed"):
        given = flags.model_dump()[name]
        if given != PrinciplesFlags.model_fields[name].get_default(call_default_factory=True):
            raise InputError(f"--{name.replace('_', '-')} {given!r} has no effect with --judged, which asks nobody")
