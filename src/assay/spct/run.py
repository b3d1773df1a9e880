"""A build as jobs over result files that resume, and its files. The thin shell around ``build``.

Files of the folder: ``samples.parquet`` and ``single.parquet`` (samples without a hint), the same with ``.hinted``,
``general.parquet`` (answers); then ``sft.jsonl`` or ``sft.parquet``, ``rl.jsonl``, and ``report.json``. The first are
read by ``assay judge --replay`` and by ``assay rm`` as any other. Nothing in the last tells when or how often it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.core.types import Item
from assay.data import ResultRow, read_results, write_jsonl
from assay.judges.base import Judge
from assay.scoring.job import JudgingJob
from assay.scoring.journal import seal
from assay.voting.plan import VotePlan

from .answers import Answerer
from .build import Built, Votes, by_subject, collect, hinted_judge, to_hint
from .general import General, GeneralRow, mixed, wanted_rows
from .hinted import HintedJudge
from .plan import RftPlan
from .prompts import Said, prompt_rows
from .rows import COLUMNS
from .tally import GeneralCounts, RftReport
from .work import Sorted, Work

Format = Literal["jsonl", "parquet"]
Stage = Literal["samples", "hinted", "general"]

REPORT_JSON, REPORT_MD, PROMPTS = "report.json", "report.md", "rl.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the build is, and how the judge is asked."""

    folder: Path
    plan: RftPlan
    chinese: bool = False
    concurrency: int = 32
    deadline_s: float = 300.0
    fresh: bool = False
    retry_failed: bool = False

    def file(self, work: Work, stage: Stage) -> Path:
        return self.folder / (f"{work.name}.parquet" if stage == "samples" else f"{work.name}.{stage}.parquet")

    @property
    def answers(self) -> Path:
        return self.folder / "general.parquet"

    def hinter(self, work: Work) -> HintedJudge:
        return hinted_judge(work.judge, self.plan, chinese=self.chinese)


def jobs(found: Sorted, general: General | None, how: Settings) -> Iterator[tuple[Stage, JudgingJob]]:
    """What is to be sampled. Each job is made when the one before has ended, out of what that recorded."""
    for work in found.works:
        votes = VotePlan(k=how.plan.n, min_valid=1)
        yield "samples", _job(how, how.file(work, "samples"), work.judge, work.items, votes)
    for work in found.works if how.plan.hint else ():
        items = to_hint(work, _votes(how.file(work, "samples"), work), how.plan)
        if items:
            yield "hinted", _job(how, how.file(work, "hinted"), how.hinter(work), items, VotePlan(k=1))
    if general is not None:
        drawn = general.drawn(how.plan.ratio, len(_judged(found, how).rows), how.plan.seed)
        asked = tuple(row.item for row in drawn if row.completion is None)
        if asked:
            yield "general", _job(how, how.answers, Answerer(), asked, None)


def take_over(found: Sorted, how: Settings, recorded: Path) -> None:
    """Begin with the votes that another folder holds; what is here already stays.

    Raises:
        InputError: it holds none. OutputError: they cannot be written.
    """
    stages: tuple[Stage, ...] = ("samples", "hinted") if how.plan.hint else ("samples",)
    files = [how.file(work, stage) for work in found.works for stage in stages]
    there = [(path, recorded / path.name) for path in files if (recorded / path.name).exists()]
    if not there:
        raise InputError(f"--recorded {str(recorded)!r} holds no samples of assay rft")
    for path, source in there:
        if not path.exists():
            write_whole(path, source.read_bytes())


def build(found: Sorted, general: General | None, how: Settings) -> tuple[list[dict[str, Any]], RftReport]:
    """The rows and the report of what is recorded so far."""
    built = _judged(found, how)
    rows, counts = built.rows, None
    if general is not None:
        drawn = general.drawn(how.plan.ratio, len(rows), how.plan.seed)
        more, counts = _mixed(drawn, general, wanted_rows(how.plan.ratio, len(rows)), how)
        rows = rows + more
    models = dict.fromkeys(f"{row['model']} {row['weight_version']}".strip() for row in rows if row["model"])
    report = RftReport(
        plan=how.plan,
        judges=tuple(work.judge.identity for work in found.works),
        models=tuple(models),
        total=built.total,
        by_source=dict(sorted(built.by_source.items())),
        by_kind=dict(sorted(built.by_kind.items())),
        skipped={one.item_id: one.reason for one in found.skipped},
        general=counts,
    )
    return rows, report


def write_rows(rows: list[dict[str, Any]], folder: Path, form: Format) -> Path:
    """The rows as a file, whole or not at all. Raises OutputError."""
    path = folder / f"sft.{form}"
    if form == "jsonl":
        write_jsonl(path, rows)
    else:
        seal(rows, path, {"assay_sft": 1}, COLUMNS)
    return path


def write_prompts(found: Sorted, said: Mapping[str, Said], how: Settings, easy: Path) -> int:
    """Write the prompts for RL, and return how many there are.

    Args:
        said: what the judge of each work is built of, by the work's name.
        easy: the folder of the recorded run that says which items are too easy.

    Raises:
        OutputError: they cannot be written.
    """
    how.folder.mkdir(parents=True, exist_ok=True)
    return write_jsonl(
        how.folder / PROMPTS,
        (
            row
            for work in found.works
            for row in prompt_rows(work, said[work.name], _votes(easy / f"{work.name}.parquet", work), how.plan)
        ),
    )


def _job(how: Settings, out: Path, judge: Judge, items: tuple[Item, ...], plan: VotePlan | None) -> JudgingJob:
    return JudgingJob(
        judge=judge,
        items=items,
        out=out,
        seed=how.plan.seed,
        concurrency=how.concurrency,
        deadline_s=how.deadline_s,
        fresh=how.fresh,
        retry_failed=how.retry_failed,
        plan=plan,
    )


def _judged(found: Sorted, how: Settings) -> Built:
    built = Built()
    for work in found.works:
        samples = _votes(how.file(work, "samples"), work)
        hinted = _votes(how.file(work, "hinted"), work) if how.plan.hint else {}
        collect(work, how.plan, samples, hinted, how.hinter(work), built)
    return built


def _votes(path: Path, work: Work) -> Votes:
    """The recorded samples of the work's items; a file may hold those of others beside them."""
    mine = {item.id for item in work.items}
    return by_subject(row for row in _recorded(path) if row.item_id in mine)


def _recorded(path: Path) -> list[ResultRow]:
    return read_results(path) if path.exists() else []


def _mixed(
    drawn: tuple[GeneralRow, ...], general: General, wanted: int, how: Settings
) -> tuple[list[dict[str, Any]], GeneralCounts]:
    answers = {row.item_id: row for row in _recorded(how.answers)}
    return mixed(drawn, answers, general, wanted)
