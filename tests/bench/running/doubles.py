"""A run of a benchmark in this process, and judges whose replies are drawn from a few."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.bench.benchmark import Benchmark
from assay.bench.catalog import find_benchmark
from assay.bench.running.candidates import CandidateBackend, CandidateJudge, ScoresCandidates
from assay.bench.running.passes import Asker, Pass, RunPlan
from assay.bench.running.run import Made, Planned, Settings, finished, planned
from assay.bench.running.scripted import scripted
from assay.bench.unit import Unit
from assay.core.types import SamplingParams
from assay.data.records import Record
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.fake.reward import FakeRewardConfig, FakeRewardEngine
from assay.judges import build_judge
from assay.scoring.batch import Judging
from assay.scoring.job import JobResult, Progress, run_job
from assay.scoring.meta import MetaScorer
from assay.scoring.scorer import Scorer

QUIET = Progress(on_start=lambda total, done: None, on_judgment=lambda judgment: None)
REPLIES = (r"\boxed{8, 3}", r"\boxed{2, 9}", r"\boxed{5, 5}", r"\boxed{7, 6}", r"\boxed{９，4}", "no verdict")
"""One of them can be read by the lenient parser only, one by none."""


def pairs(n: int) -> list[dict[str, Any]]:
    return [
        {"id": f"q{i}", "prompt": f"{i}?", "chosen": f"good {i}", "rejected": f"bad {i}", "subset": "ab"[i % 2]}
        for i in range(n)
    ]


def units_of(
    name: str, rows: Sequence[Mapping[str, Any]], file: str = "data.jsonl"
) -> tuple[Benchmark, tuple[Unit, ...]]:
    benchmark = find_benchmark(name)
    found = benchmark.units([Record(line=line, row=row) for line, row in enumerate(rows, 1)], file)
    assert found.bad == ()
    return benchmark, found.units


def of_script(name: str) -> Asker:
    return of_scorer(scripted(f"scripted:{name}"))


def of_scorer(scorer: ScoresCandidates) -> Asker:
    return Asker(
        judge=CandidateJudge.of(scorer),
        backend=lambda _: CandidateBackend(scorer),
        scalar=scorer.scalar,
        varies=scorer.varies,
        tempers=False,
    )


def of_judge(name: str = "pointwise", *, replies: Sequence[str] = REPLIES, meta: bool = False, **options: Any) -> Asker:
    judge = build_judge(name, **options)
    lenient = None if "lenient" in options or name == "tokenprob" else build_judge(name, **options, lenient=True)

    def made(one: Pass) -> Judging:
        rm = {"rm": MetaScorer(FakeRewardEngine(FakeRewardConfig()))} if one.plan.meta else {}
        return Scorer(
            FakeEngine(FakeConfig(replies=tuple(replies))),
            sampling=SamplingParams(temperature=0.0) if one.greedy else None,
            reask=0,
            metas=rm,
        )

    return Asker(judge=judge, backend=made, lenient=lenient, meta="rm" if meta else None)


def run(
    benchmark: Benchmark, units: Sequence[Unit], asker: Asker, folder: Path, plan: RunPlan | None = None, **how: Any
) -> Made:
    plan = plan or RunPlan(bootstrap=0)
    made = planned(benchmark, units, asker, plan, Settings(folder=folder, **how))
    ask(made)
    return finished(made, {})


def ask(run: Planned) -> list[JobResult]:
    found: list[JobResult] = []
    for one in run.passes:
        found.append(JobResult())
        asyncio.run(run_job(run.job(one), run.asker.backend(one), QUIET, found[-1]))
    return found


def value(made: Made) -> float | None:
    return made.result.aggregate.score.value


def document(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "score.json").read_text())
