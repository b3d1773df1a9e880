"""What ``assay rft`` does with its flags: load, sample, build, write, show. The layers below decide everything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rich.markup import escape

from assay.core import log
from assay.core.errors import InputError
from assay.core.types import Item
from assay.data import BadRecord, FieldMap
from assay.data.preference.sources import preference_items
from assay.data.principles import load_given
from assay.engines.embedded.config import NO_ADAPTER
from assay.judges import Judge
from assay.judges.principles import from_principles
from assay.report.page import write_whole
from assay.report.rft import markdown, print_report
from assay.scoring.job import JobResult, JudgingJob, run_job
from assay.spct.general import General, load_general
from assay.spct.plan import SOURCE, RftPlan
from assay.spct.prompts import Said
from assay.spct.run import (
    PROMPTS,
    REPORT_JSON,
    REPORT_MD,
    Settings,
    Stage,
    build,
    jobs,
    take_over,
    write_prompts,
    write_rows,
)
from assay.spct.work import Sorted, sort_items

from .asking import AskingFlags
from .building import DEFAULT_JUDGE, backend, judge_of, judge_options, prepared
from .ending import end
from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .progress import judging_progress
from .rft import RftFlags
from .showing import console, say

_LISTED = 10
_RECORDED = ("samples", "single", "general")


def build_rft(flags: RftFlags) -> None:
    """Run the command; ends the process with the exit code of ``ending``, 130 after Ctrl-C."""
    log.setup("warning")
    how = _settings(flags)
    asking = _asking(flags)
    items, bad = _load(flags)
    judge = judge_of(asking)
    found = sort_items(prepared(asking, items), judge, _single(asking, judge))
    general = _general(flags)
    _announce(found, bad)
    skipped = bool(bad or found.skipped)
    if flags.prompts_only:
        end(skipped=skipped, made=_prompts(flags, asking, found, how))
        return
    if flags.recorded is not None:
        take_over(found, how, flags.recorded)
    stopped = _sample(flags, asking, found, general, how)
    rows, report = build(found, general, how)
    print_report(console, report)
    if stopped:
        say(f"stopped: the samples are kept in {how.folder}; the same command goes on from there")
        sys.exit(130)
    path = write_rows(rows, how.folder, flags.format)
    write_whole(how.folder / REPORT_JSON, (report.model_dump_json(indent=2) + "\n").encode("utf-8", "backslashreplace"))
    write_whole(how.folder / REPORT_MD, markdown(report).encode("utf-8", "backslashreplace"))
    _prompts(flags, asking, found, how)
    say(f"{len(rows)} rows in {path}; report: {how.folder / REPORT_MD}")
    end(skipped=skipped, made=len(rows))


def _settings(flags: RftFlags) -> Settings:
    return Settings(
        folder=flags.out,
        plan=RftPlan(**{name: value for name, value in flags if name in RftPlan.model_fields}),
        chinese=flags.language == "zh",
        concurrency=flags.concurrency,
        deadline_s=flags.deadline_s,
        fresh=flags.fresh,
        retry_failed=flags.retry_failed,
    )


def _asking(flags: RftFlags) -> JudgeFlags:
    if flags.mode != "1-10":
        raise InputError("--mode '0-1' is taken by itself for single candidates: leave it out")
    if flags.engine == "service":
        raise InputError("--engine 'service' judges by its own prompts, without a hint: name its engine (openai)")
    said = {name: value for name, value in flags if name in AskingFlags.model_fields}
    # Who is sampled here is who will be trained on the samples: the model as it is.
    said["adapter"] = flags.adapter or NO_ADAPTER
    return JudgeFlags(**said)


def _single(asking: JudgeFlags, judge: Judge) -> Judge | None:
    """Who judges single candidates: the pointwise judge on its scale 0-1 (the paper's template for training)."""
    return judge_of(asking.model_copy(update={"mode": "0-1"})) if judge.name == "pointwise" else None


def _load(flags: RftFlags) -> tuple[tuple[Item, ...], list[str]]:
    """The items of all sources, each with its source and a name of its own; and what could not be read."""
    if not flags.items:
        raise InputError("name the ITEMS to sample: a file with gold, or a published preference set")
    names = (f"sft.{flags.format}", PROMPTS, REPORT_JSON, REPORT_MD, *(f"{name}.parquet" for name in _RECORDED))
    inputs = (*flags.items, flags.general, flags.principles, flags.judge)
    refuse_overwriting(inputs, (("in --out", flags.out / name) for name in names))
    bad: list[str] = []
    found: dict[str, Item] = {}
    for source in flags.items:
        for item in _of(source, flags, bad):
            name, turn = item.id, 2
            while name in found:
                name, turn = f"{item.id}~{turn}", turn + 1
            found[name] = replace(item, id=name)
    if not found:
        raise InputError(f"no row of {', '.join(flags.items)} becomes an item with gold: {bad[:1]}")
    return tuple(found.values()), bad


def _of(source: str, flags: RftFlags, bad: list[str]) -> Iterator[Item]:
    name = source.partition("=")[0].rpartition("/")[2].partition(".")[0]
    for item in islice(preference_items(source, FieldMap.parse(flags.field)), flags.limit):
        if isinstance(item, BadRecord):
            bad.append(f"{source}, line {item.line}: {item.reason}")
        else:
            yield replace(item, metadata={SOURCE: name, **item.metadata})


def _prompts(flags: RftFlags, asking: JudgeFlags, found: Sorted, how: Settings) -> int:
    name, options = flags.judge or DEFAULT_JUDGE, judge_options(asking)
    if flags.principles is not None and "principles" in options:
        options["principles"] = from_principles(load_given(flags.principles))
    said = {
        "samples": Said(judge=name, options=options),
        "single": Said(judge=name, options={**options, "mode": "0-1"}),
    }
    easy = flags.easy_from or how.folder
    if flags.easy_from is not None and not any((easy / f"{name}.parquet").exists() for name in said):
        raise InputError(f"--easy-from {str(easy)!r} holds no samples of assay rft")
    written = write_prompts(found, said, how, easy)
    say(f"{written} prompts for RL in {how.folder / PROMPTS}")
    return written


def _general(flags: RftFlags) -> General | None:
    if (flags.general is None) != (flags.ratio == 0):
        raise InputError("--general and --ratio go together: which rows are mixed in, and how many for each of judging")
    return None if flags.general is None else load_general(flags.general)


def _announce(found: Sorted, bad: Sequence[str]) -> None:
    for told in (*bad, *(one.reason for one in found.skipped))[:_LISTED]:
        console.print(f"[yellow]skipped[/] {escape(told)}", highlight=False, soft_wrap=True)
    more = len(bad) + len(found.skipped) - _LISTED
    if more > 0:
        say(f"… and {more} more; those with an item are in the report")
    if not found.works:
        raise InputError("none of the items can be sampled; the reasons are above")


def _sample(flags: RftFlags, asking: JudgeFlags, found: Sorted, general: General | None, how: Settings) -> bool:
    """Draw what is not drawn yet; returns whether it was stopped."""
    try:
        for stage, job in jobs(found, general, how):
            asyncio.run(_run(_for(stage, flags, asking), job, stage))
    except KeyboardInterrupt:
        return True
    return False


def _for(stage: Stage, flags: RftFlags, asking: JudgeFlags) -> JudgeFlags:
    if stage != "general":
        return asking
    said: dict[str, object] = {"sampling": {**flags.sampling, **flags.general_sampling}}
    if flags.general_model is not None:
        said |= {"model": flags.general_model, "adapter": NO_ADAPTER}
    return asking.model_copy(update=said)


async def _run(asking: JudgeFlags, job: JudgingJob, stage: Stage) -> None:
    with judging_progress(f"{job.judge.name}: {stage}") as progress:
        await run_job(job, backend(asking, job.judge), progress, JobResult())
