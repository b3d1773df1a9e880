"""``assay judge --replay RUN``: recorded judgments decided anew. The judge's engine is never built.

Every decision is made by ``scoring.replay``; this is reading, writing and showing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.core.errors import InputError
from assay.core.types import Verdict
from assay.data import ResultRow, read_results
from assay.judges import JUDGES, Judge
from assay.report.bootstrap import Bootstrap, bootstrap
from assay.report.diff import diff
from assay.report.summary import summarise
from assay.report.sweep import Step, sweep_table
from assay.report.words import percent, span
from assay.scoring.replay import Recording, read_again, recorded_plan, recordings, replay, replayed_rows
from assay.scoring.reweighing import weigh_again
from assay.scoring.runfile import RunHeader, write_run
from assay.voting.plan import VotePlan
from assay.voting.spoken import plan_to_json

from .building import DEFAULT_JUDGE, judge_of, meta_of, refuse_given
from .ending import end
from .judge import JudgeFlags
from .overwriting import refuse_overwriting
from .showing import console, rates_of, say, show_rows

NO_META = "none"
_ABOUT_ASKING = (
    "file", "engine", "model", "adapter", "url", "route_key", "engine_options", "sampling", "field", "limit", "reask",
    "cache", "no_dedup", "retry_failed", "need_gold",
)  # fmt: skip


def replay_run(flags: JudgeFlags, source: Path) -> None:
    """Replay ``source`` as the flags say, write what comes of it, and show it."""
    refuse_given(flags, _ABOUT_ASKING, "has no effect on a replay: it asks no judge and reads no items")
    out = flags.out or source.with_name(f"{source.stem}.replay.parquet")
    written = (("--out", out), ("--export-to", flags.export_to), ("--report", flags.report))
    refuse_overwriting((source, flags.judge, flags.principles), written)
    rates_of(flags)
    begin = time.perf_counter()
    rows = _of_one_judge(flags, read_results(source))
    recorded = recordings(rows)
    judge = judge_of(flags, _recorded_judge(rows))
    plan = _plan(flags, recorded_plan(recorded))
    recorded = _weighed(flags, read_again(recorded, judge))
    made = replayed_rows(recorded, replay(recorded, judge, plan))
    write_run(out, _header(flags, made[0], plan), made, fresh=flags.fresh)
    _say_what_changed(rows, made, recorded)
    seconds = time.perf_counter() - begin
    items = list({recording.item.id: recording.item for recording in recorded}.values())
    shown = show_rows(
        flags, made, items, out=out, about=f"{judge.name} on {source}, replayed", note=f", replayed in {seconds:.1f} s"
    )
    _resampled(flags, recorded, judge, plan)
    if flags.k_sweep:
        _sweep(flags, recorded, judge, plan)
    end(skipped=False, made=sum(row.ok for row in shown))


def _plan(flags: JudgeFlags, recorded: VotePlan | None) -> VotePlan | None:
    """The recorded plan, with what the flags say in place of its own."""
    if recorded is None:
        return flags.plan()
    if flags.meta == NO_META:
        recorded, flags = replace(recorded, meta=None, k_meta=None), flags.model_copy(update={"meta": None})
    return flags.over(recorded)


def _of_one_judge(flags: JudgeFlags, rows: list[ResultRow]) -> list[ResultRow]:
    """The rows of the judge that is named, where a recording has several."""
    names = {row.judge for row in rows}
    return [row for row in rows if row.judge == flags.judge] if flags.judge in names else rows


def _recorded_judge(rows: Sequence[ResultRow]) -> str:
    name = rows[0].judge if rows else DEFAULT_JUDGE
    if name not in JUDGES:
        raise InputError(f"the recording is of a judge of your own, {name!r}: name its file with --judge")
    return name


def _weighed(flags: JudgeFlags, recorded: list[Recording]) -> list[Recording]:
    if flags.meta in (None, NO_META):
        refuse_given(flags, ("meta_options",), "needs a meta RM: name its model with --meta")
        return recorded

    async def weigh() -> list[Recording]:
        # Built here: an engine belongs to the event loop that it is used in.
        meta = meta_of(str(flags.meta), flags)
        return await weigh_again(recorded, meta, concurrency=flags.concurrency, deadline_s=flags.deadline_s)

    return asyncio.run(weigh())


def _header(flags: JudgeFlags, first: ResultRow, plan: VotePlan | None) -> RunHeader:
    return RunHeader(
        judge=first.judge_identity,
        model=first.model,
        weight_version=first.weight_version,
        sampling=dict(first.sampling),
        reask=None,
        seed=first.base_seed,
        voting={} if plan is None else plan_to_json(plan),
        meta="" if plan is None or plan.meta is None else f"replayed {flags.meta or plan.meta}",
    )


def _say_what_changed(before: list[ResultRow], after: list[ResultRow], recorded: Sequence[Recording]) -> None:
    found = diff(before, after)
    kinds = ", ".join(f"{kind} {count}" for kind, count in found.counts.items())
    say(f"replay of {found.pairs} judgments, no judge asked: {kinds}")
    unweighed = sum(isinstance(vote.outcome, Verdict) and vote.meta is None for each in recorded for vote in each.votes)
    if unweighed and after[0].voting.get("meta") is not None:
        say(f"{unweighed} votes have a verdict and no meta score, so they are not kept: name the meta RM with --meta")


def _resampled(flags: JudgeFlags, recorded: Sequence[Recording], judge: Judge, plan: VotePlan | None) -> None:
    if flags.bootstrap is None or flags.k_sweep:
        return
    if plan is None:
        raise InputError("--bootstrap resamples votes, and this recording is of plain judgments")
    found = _bootstrap(flags, recorded, judge, plan)
    if found is None:
        say("bootstrap: no gold to compare with")
    else:
        value, reach = percent(found.interval.value), span(found.interval)
        say(f"{found.name} over {found.times} resamples of {plan.k} votes: mean {value}, 95 % of them within {reach}")


def _bootstrap(flags: JudgeFlags, recorded: Sequence[Recording], judge: Judge, plan: VotePlan) -> Bootstrap | None:
    return bootstrap(recorded, judge, plan, times=flags.bootstrap or 0, base=flags.seed)


def _sweep(flags: JudgeFlags, recorded: Sequence[Recording], judge: Judge, plan: VotePlan | None) -> None:
    """The table over k; ``k_meta`` and ``min_valid`` are at most k."""
    if plan is None:
        raise InputError("--k-sweep counts votes, and this recording is of plain judgments")
    steps: list[Step] = []
    for k in range(1, plan.k + 1):
        least = {
            name: min(value, k) for name, value in (("k_meta", plan.k_meta), ("min_valid", plan.min_valid)) if value
        }
        step = replace(plan, k=k, **least)
        made = replayed_rows(recorded, replay(recorded, judge, step))
        resampled = None if flags.bootstrap is None else _bootstrap(flags, recorded, judge, step)
        steps.append(Step(k=k, judge=summarise(made, rates=rates_of(flags)).judges[0], bootstrap=resampled))
    console.print()
    console.print(sweep_table(steps))
