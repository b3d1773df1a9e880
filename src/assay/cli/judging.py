"""What ``assay judge`` does with its flags: load, build, run, show. Every decision is made by the layers below."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from assay.client import GenRMClient
from assay.core import log
from assay.core.errors import InputError
from assay.core.types import Item, SamplingParams
from assay.data import EXPORTS, FieldMap, Items, Need, ResultRow, load_items, read_results, write_jsonl
from assay.data.principles import attach, load_given, load_stored
from assay.engines.catalog import build_engine, engine_config
from assay.judges import Judge, build_judge
from assay.report.agreement import disagreements
from assay.report.html import write_report
from assay.report.summary import summarise
from assay.report.tables import print_summary
from assay.scoring.batch import Judging
from assay.scoring.cache import VerdictCache
from assay.scoring.job import Job, JobResult, Progress, run_job
from assay.scoring.policy import ScoringPolicy
from assay.scoring.remote import RemoteScorer
from assay.scoring.scorer import Scorer
from assay.wire.sampling import SamplingBody, to_sampling

from .declare import checked
from .judge import JudgeFlags
from .progress import judging_progress

console = Console()

_LISTED = 20


def judge_file(flags: JudgeFlags) -> None:
    """Run the command; ends the process with exit code 1 when some input was skipped, 130 after Ctrl-C."""
    log.setup("warning")
    _refuse_overwriting(flags)
    judge = _judge(flags)
    items = load_items(flags.file, FieldMap.parse(flags.field), need=_needs(flags))
    job = Job(
        judge=judge,
        items=_prepared(flags, items.items[: flags.limit]),
        out=flags.out,
        seed=flags.seed,
        concurrency=flags.concurrency,
        deadline_s=flags.deadline,
        fresh=flags.fresh,
        retry_failed=flags.retry_failed,
    )
    console.print(
        f"[bold]{escape(items.name)}[/]: {len(job.items)} items ({escape(f'{items.shape}: {items.fields}')})",
        highlight=False,
        soft_wrap=True,
    )
    result = JobResult()
    stopped = False
    try:
        with judging_progress(judge.name) as progress:
            asyncio.run(_run(flags, job, progress, result))
    except KeyboardInterrupt:
        stopped = True
    kept, verdicts = _show(flags, job, items, result)
    if stopped:
        console.print(
            f"stopped: {kept} judgments are kept in {flags.out}; the same command goes on from there", soft_wrap=True
        )
        sys.exit(130)
    if items.bad or result.skipped or not verdicts:
        sys.exit(1)


async def _run(flags: JudgeFlags, job: Job, progress: Progress, result: JobResult) -> None:
    # Built here: an engine and a client belong to the event loop that they are used in.
    await run_job(job, backend(flags, job.judge), progress, result)


def _judge(flags: JudgeFlags) -> Judge:
    shorthands = {"choices": flags.choices, "lenient": flags.lenient, "language": flags.language, "mode": flags.mode}
    # A flag at its default says nothing, so that a judge without that option can be asked for.
    said: dict[str, object] = {
        name: value for name, value in shorthands.items() if value != JudgeFlags.model_fields[name].default
    }
    if flags.principles is not None:
        said |= {"principles": load_given(flags.principles)} if _for_all(flags.principles) else {"stored": True}
    return build_judge(flags.judge, **said, **flags.judge_options)


def _prepared(flags: JudgeFlags, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items, with the principles that are stored for their prompts."""
    if flags.principles is None or _for_all(flags.principles):
        return items
    return attach(items, load_stored(flags.principles))


def _for_all(principles: Path) -> bool:
    return principles.suffix == ".toml"


def _needs(flags: JudgeFlags) -> tuple[Need, ...]:
    return ("candidates", "gold") if flags.need_gold else ("candidates",)


def _sampling(flags: JudgeFlags) -> SamplingParams:
    return to_sampling(checked(SamplingBody, **flags.sampling))


def backend(flags: JudgeFlags, judge: Judge) -> Judging:
    """Who answers, by the flags about engines. Raises InputError."""
    kind = flags.engine or ("rule" if judge.rule else "embedded")
    if kind == "service":
        _refuse_local(flags)
        return RemoteScorer(GenRMClient(flags.url, api_key=flags.api_key), route_key=flags.route_key)
    if judge.rule != (kind == "rule") and kind != "fake":
        right = "rule" if judge.rule else "embedded, openai, fake or service"
        raise InputError(f"judge {judge.name!r} cannot be answered by the engine {kind!r}: take {right}")
    options = dict(flags.engine_options)
    given = {"model": flags.model, "base_url": flags.url, "api_key": flags.api_key if kind == "openai" else None}
    options |= {name: value for name, value in given.items() if value is not None}
    return Scorer(
        build_engine(engine_config(kind, options)),
        sampling=_sampling(flags),
        policy=ScoringPolicy(reask=flags.reask),
        cache=None if flags.no_dedup else VerdictCache(flags.cache),
        deduplicate=not flags.no_dedup,
    )


def _refuse_overwriting(flags: JudgeFlags) -> None:
    """An output that is the input would destroy it."""
    source = Path(flags.file)
    for flag, path in (("--out", flags.out), ("--export-to", flags.export_to), ("--report", flags.report)):
        if path is not None and path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{flag} {str(path)!r} is the input itself; name another file")


def _refuse_local(flags: JudgeFlags) -> None:
    """Flags about an engine of this process have no effect on a service: refused, not dropped."""
    for name in ("model", "engine_options", "sampling", "reask", "cache", "no_dedup"):
        given = flags.model_dump()[name]
        if given != JudgeFlags.model_fields[name].get_default(call_default_factory=True):
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} {given!r} has no effect on a judge service: give it to assay serve instead")


def _show(flags: JudgeFlags, job: Job, items: Items, result: JobResult) -> tuple[int, int]:
    """Show what came of it; returns how many judgments there are, and how many of them are verdicts."""
    mine = {item.id for item in job.items}
    found = read_results(flags.out) if flags.out.exists() else []
    rows = [row for row in found if row.item_id in mine]
    for bad in items.bad:
        console.print(f"[yellow]skipped[/] line {bad.line}: {escape(bad.reason)}", highlight=False, soft_wrap=True)
    for skipped in result.skipped:
        told = escape(f"{skipped.item_id}: {skipped.reason}")
        console.print(f"[yellow]skipped[/] item {told}", highlight=False, soft_wrap=True)
    if not rows:
        raise InputError(f"nothing was judged: no item of {flags.file!r} can be taken by the judge {flags.judge!r}")
    print_summary(console, summarise(rows, seconds=result.seconds, judged=result.judged))
    resumed = f", {result.resumed} of them from an earlier call" if result.resumed else ""
    others = f"; {len(found) - len(rows)} judgments of other items are in it too" if len(found) > len(rows) else ""
    console.print(
        f"{len(rows)} judgments in {flags.out}{resumed}{others}", markup=False, highlight=False, soft_wrap=True
    )
    _list_disagreements(rows)
    if flags.export is not None:
        _export(flags, flags.export, job, rows)
    if flags.report is not None:
        write_report(
            flags.report, rows, title=f"{flags.judge} on {flags.file}", items=job.items, seconds=result.seconds
        )
        console.print(f"report: {flags.report}", highlight=False, soft_wrap=True)
    return len(rows), sum(row.ok for row in rows)


def _list_disagreements(rows: list[ResultRow]) -> None:
    found = disagreements(rows)
    for row in found[:_LISTED]:
        where = row.item_id if row.candidate is None else f"{row.item_id}, candidate {row.candidate + 1}"
        told = f"disagrees: {where}: gold {row.own_gold}, scores {row.scores}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    if len(found) > _LISTED:
        console.print(f"… and {len(found) - _LISTED} more disagreements: see --report", soft_wrap=True)


def _export(flags: JudgeFlags, kind: str, job: Job, rows: list[ResultRow]) -> None:
    target = flags.export_to or flags.out.with_name(f"{flags.out.stem}.{kind}.jsonl")
    made = EXPORTS[kind](rows, job.items)
    write_jsonl(target, made.rows)
    console.print(
        f"{len(made.rows)} {kind} rows in {target} (left out: {made.ties} tied, {made.failed} failed, "
        f"{made.single} with one candidate)",
        highlight=False,
        soft_wrap=True,
    )
