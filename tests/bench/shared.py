"""Golden values and data that stand beside the repository; tests that need them are skipped without."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.bench.aggregate import gather
from assay.bench.benchmark import Benchmark
from assay.bench.counting import Counting
from assay.bench.score import Score
from assay.bench.unit import Answer, Judged, Unit
from assay.data.records import Record

DATA = Path(__file__).parents[2] / "../shared/data"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared, which is not part of the repository")
EXACT = 1e-9


def golden(name: str) -> Any:
    return json.loads((DATA / "golden" / f"{name}.json").read_text())


def units(benchmark: Benchmark, rows: Sequence[Mapping[str, Any]], file: str = "data.jsonl") -> tuple[Unit, ...]:
    """The units of rows that are all good."""
    found = benchmark.units([Record(line=line, row=row) for line, row in enumerate(rows, 1)], file)
    assert found.bad == ()
    return found.units


def scored(unit: Unit, *scores: float) -> Judged:
    return Judged(unit=unit, answer=Answer(scores=tuple(map(float, scores))))


def score(benchmark: Benchmark, judged: Sequence[Judged], counting: Counting | None = None) -> Score:
    return benchmark.combine(gather(benchmark, judged, counting or Counting()).cases)
