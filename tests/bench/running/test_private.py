"""A benchmark whose text must not appear in the open: nothing that is written holds any of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.bench.running.passes import RunPlan
from assay.bench.running.run import Settings, finished, planned
from assay.data import read_results
from assay.scoring.job import JobResult, Progress, run_job
from assay.scoring.judgment import Judgment

from .doubles import of_judge, run, units_of, value

SECRETS = ("the hidden question", "the hidden answer", "quoted by the judge", "PROMPT-MARK")
REPLIES = (r"quoted by the judge \boxed{7}", r"quoted by the judge \boxed{３}", "quoted by the judge")


def rows(n: int) -> list[dict[str, Any]]:
    models = ("gpt-4-0613", "meta-llama/Llama-2-70b-chat-hf")
    return [
        {"input": f"the hidden question {i}", "llm_response": f"the hidden answer {i}",
         "error_label": ("error", "no_error")[i // 2 % 2], "human_explanation": "PROMPT-MARK",
         "metadata": {"id": f"id{i}", "task_name": "finegrained_fact_verification",
                      "llm_response_model": models[i % 2]}}
        for i in range(n)
    ]  # fmt: skip


def texts_in(folder: Path) -> list[str]:
    """Every file, also inside of Parquet, that holds one of the secrets."""
    found: list[str] = []
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            shown = repr(pq.read_table(path).to_pylist()) + repr(pq.read_schema(path).metadata)
        else:
            shown = path.read_bytes().decode("utf-8", "replace")
        found += [f"{path.name}: {secret}" for secret in SECRETS if secret in shown]
    return found


def test_no_file_of_a_run_holds_any_text(tmp_path: Path) -> None:
    benchmark, units = units_of("realmistake", rows(24))
    made = run(benchmark, units, of_judge(replies=REPLIES, meta=True), tmp_path, RunPlan(k=3, bootstrap=0))
    assert texts_in(tmp_path) == []
    kept = read_results(tmp_path / "votes.parquet")
    assert len(kept) == 72
    assert {row.metadata["subset"] for row in kept} == {unit.subset for unit in units}
    assert made.result.failures
    assert any(row.scores for row in kept)


def test_the_journal_of_a_killed_run_holds_none_either(tmp_path: Path) -> None:
    benchmark, units = units_of("realmistake", rows(24))
    asker = of_judge(replies=REPLIES)
    planned_run = planned(benchmark, units, asker, RunPlan(bootstrap=0), Settings(folder=tmp_path, concurrency=1))
    (one,) = planned_run.passes
    seen: list[str] = []

    def look(judgment: Judgment) -> None:
        seen.append(judgment.item.id)
        if len(seen) == 12:
            raise KeyboardInterrupt

    progress = Progress(on_start=lambda total, done: None, on_judgment=look)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_job(planned_run.job(one), asker.backend(one), progress, JobResult()))
    assert texts_in(tmp_path) == []
    asyncio.run(
        run_job(
            planned_run.job(one),
            asker.backend(one),
            Progress(on_start=lambda total, done: None, on_judgment=lambda judgment: None),
            JobResult(),
        )
    )
    assert finished(planned_run, {}).result.units == 24


def test_the_figures_are_those_of_a_run_that_keeps_its_texts(tmp_path: Path) -> None:
    """The lenient reading and the lengths are taken before the texts are dropped."""
    benchmark, units = units_of("realmistake", rows(24))
    asker, plan = of_judge(replies=REPLIES), RunPlan(k=2, bootstrap=0)
    private = run(benchmark, units, asker, tmp_path / "private", plan)
    opened = run(replace(benchmark, private_text=False), units, asker, tmp_path / "open", plan)
    assert value(private) == value(opened)
    assert private.result.by_failures == opened.result.by_failures
    for name in ("answers.parquet", "cases.parquet", "score.json"):
        assert (tmp_path / "private" / name).read_bytes() == (tmp_path / "open" / name).read_bytes()
    assert texts_in(tmp_path / "open")
