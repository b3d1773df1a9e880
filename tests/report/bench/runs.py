"""Finished benchmark runs in folders, by scripted judges and the fake engine."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.running.doubles import of_judge, of_script, pairs, run, units_of

from assay.bench.running.passes import RunPlan
from assay.bench.running.written import write_json

HOSTILE = "</script><img src=x onerror=alert(1)>"


def write_script(folder: Path, script: str, n: int = 12) -> Path:
    """A scripted judge on the user's own pairs."""
    benchmark, units = units_of("pairs", pairs(n))
    run(benchmark, units, of_script(script), folder / "pairs", RunPlan(bootstrap=50))
    return folder


def write_votes(folder: Path, *, k: int = 8, meta: bool = True, n: int = 12) -> Path:
    """A judge that says one of a few things, with k votes, on pairs of two subsets."""
    benchmark, units = units_of("pairs", pairs(n))
    run(benchmark, units, of_judge(meta=meta), folder / "pairs", RunPlan(k=k, bootstrap=50))
    score = json.loads((folder / "pairs" / "score.json").read_text())
    score["asked"] |= {"models": [{"model": HOSTILE, "weight_version": "1"}], "active_parameters": [2_400_000_000]}
    (folder / "pairs" / "score.json").write_text(json.dumps(score))
    entry = {
        "passes": {"greedy": {"seconds": 1.5}, "votes": {"seconds": 2.0}},
        "cost": {"votes": {"tokens": 1200, "calls": 96, "money": 0.25}},
    }
    write_json(folder / "run.json", {"assay_bench": 1, "benchmarks": {"pairs": entry}})
    return folder
