"""What ``assay audit`` does with its flags: load, build, ask, make the card. The layers below decide everything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from assay.bench.audit.build import Built, build
from assay.bench.audit.card import Card, make_card
from assay.bench.audit.plan import AuditPlan
from assay.bench.audit.run import CARD_HTML, CARD_JSON, CARD_MD, Name, Settings, file_of, jobs
from assay.bench.audit.sources import AuditItems, audit_items
from assay.core import log
from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.core.types import Item
from assay.data import FieldMap, ResultRow, read_results
from assay.judges import Judge
from assay.judges.refusals import refusal
from assay.report.audit_page import write_audit_page
from assay.report.audit_text import markdown, print_card
from assay.scoring.job import JobResult, JudgingJob, run_job

from .audit import AuditFlags
from .building import backend, judge_of, prepared
from .ending import end
from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .progress import judging_progress
from .showing import console, say


def audit(flags: AuditFlags) -> None:
    """Audit the judge; ends the process with the exit code of ``ending``, 130 after Ctrl-C."""
    log.setup("warning")
    asking = _asking(flags)
    judge = judge_of(asking)
    plan = AuditPlan(**{name: value for name, value in flags if name in AuditPlan.model_fields})
    written = (file_of(flags.out, "probes"), file_of(flags.out, "repeats"), flags.out / CARD_JSON, flags.out / CARD_MD)
    refuse_overwriting((flags.file, flags.judge, flags.principles), (("in --out", path) for path in written))
    source = audit_items(flags.file, FieldMap.parse(flags.field))
    own = flags.own or ((flags.model,) if flags.model else ())
    items = prepared(asking, source.items)
    built = build(items, plan, lambda item: refusal(judge, item), own, alone=judge.per_candidate)
    _announce(source, built, plan)
    stopped = _ask(flags, asking, judge, built, plan)
    if stopped and not _rows(file_of(flags.out, "probes"), built.probes):
        say("stopped: nothing is judged yet; the same command begins anew")
        sys.exit(130)
    card = _card(flags, judge, built, plan, source)
    _write(flags.out, card)
    print_card(console, card)
    say(f"judge card: {flags.out / CARD_HTML} ({CARD_MD} and {CARD_JSON} beside it)")
    if stopped:
        say(f"stopped: what was judged is kept in {flags.out}; the same command goes on from there")
        sys.exit(130)
    end(skipped=bool(source.bad or built.refused), made=card.judgments - sum(card.failures.values()))


def _asking(flags: AuditFlags) -> JudgeFlags:
    """The flags that say how the judge is asked; at temperature 0 unless another is said."""
    said = {name: value for name, value in flags if name in JudgeFlags.model_fields and name not in ("file", "out")}
    if flags.engine != "service":
        said["sampling"] = {"temperature": 0.0, **flags.sampling}
    return JudgeFlags(**said)


def _announce(source: AuditItems, built: Built, plan: AuditPlan) -> None:
    for bad in source.bad:
        console.print(f"[yellow]skipped[/] line {bad.line}: {escape(bad.reason)}", highlight=False, soft_wrap=True)
    for item_id, reason in built.refused.items():
        told = escape(f"item {item_id}: the judge can take it in no form: {reason}")
        console.print(f"[yellow]skipped[/] {told}", highlight=False, soft_wrap=True)
    told = f"{source.name}: {len(source.items)} items ({source.told}), {built.left} not drawn (--items {plan.items})"
    repeats = f", {len(built.repeats)} of them {plan.repeats} times" if built.repeats else ""
    say(f"{told}: {len(built.probes)} questions{repeats}")


def _ask(flags: AuditFlags, asking: JudgeFlags, judge: Judge, built: Built, plan: AuditPlan) -> bool:
    """Ask everything that is not asked yet; returns whether it was stopped."""
    how = Settings(
        judge=judge,
        folder=flags.out,
        concurrency=flags.concurrency,
        deadline_s=flags.deadline_s,
        fresh=flags.fresh,
        retry_failed=flags.retry_failed,
    )
    try:
        for name, job in jobs(built, plan, how):
            asyncio.run(_run(_for(name, asking), job, f"{judge.name}: {name}"))
    except KeyboardInterrupt:
        return True
    return False


def _for(name: Name, asking: JudgeFlags) -> JudgeFlags:
    """Repeats are asked at temperature 0 whatever else is, and never out of a cache."""
    if name == "probes" or asking.engine == "service":
        return asking
    said = {"sampling": {**asking.sampling, "temperature": 0.0}, "cache": None, "no_dedup": True}
    return asking.model_copy(update=said)


async def _run(asking: JudgeFlags, job: JudgingJob, label: str) -> None:
    with judging_progress(label) as progress:
        await run_job(job, backend(asking, job.judge), progress, JobResult())


def _card(flags: AuditFlags, judge: Judge, built: Built, plan: AuditPlan, source: AuditItems) -> Card:
    probes = _rows(file_of(flags.out, "probes"), built.probes)
    repeats = _rows(file_of(flags.out, "repeats"), built.repeats)
    if not probes:
        raise InputError(f"nothing was judged yet of {source.name!r}: there is no card to make")
    model = next((row.model for row in probes if row.model), "")
    return make_card(
        probes,
        repeats,
        judge,
        plan,
        source=source.name,
        own=flags.own or tuple(filter(None, (flags.model, model))),
        skipped=(*(f"line {bad.line}" for bad in source.bad), *built.refused),
        repeat_temperature=None if flags.engine == "service" else 0.0,
    )


def _rows(path: Path, items: Sequence[Item]) -> list[ResultRow]:
    """The rows of this audit: a file may hold those of one with more items beside them."""
    mine = {item.id for item in items}
    return [row for row in read_results(path) if row.item_id in mine] if path.exists() and mine else []


def _write(folder: Path, card: Card) -> None:
    write_whole(folder / CARD_JSON, card.model_dump_json(indent=2) + "\n")
    write_whole(folder / CARD_MD, markdown(card))
    write_audit_page(folder / CARD_HTML, card)
