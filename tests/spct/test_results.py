"""From a run's folders to its figures: what is done counts, an ablation stands beside the model that it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.data.results import COLUMNS, ResultRow, row_to_json
from assay.scoring.journal import seal
from assay.spct.pipeline.mark import Mark, write_mark
from assay.spct.pipeline.recipe import SpctRecipe
from assay.spct.pipeline.variants import Variant, variants
from assay.spct.results import results

from .test_evaluation import greedy, votes

RIGHT, WRONG = (8.0, 3.0), (3.0, 8.0)
ABLATIONS: list[dict[str, Any]] = [
    {"name": "no-rl", "until": "rft", "against": "rl", "paper": "DeepSeek-GRM-27B-RFT"},
    {"name": "no-hint", "until": "rft", "paper": "RFT w/o Hinted Sampling", "set": {"rft.hint": False}},
]


def save(path: Path, rows: list[ResultRow]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    seal([row_to_json(row) for row in rows], path, {"assay_result": 1}, COLUMNS)


def done(line: Variant, stage: str) -> Path:
    placed = line.at(stage)
    mark = Mark(stage=stage, key=placed.key, settings={}, seconds=3.0, made="x")
    write_mark(placed.folder, mark)
    return placed.folder


def measured(line: Variant, model: str, right: int) -> None:
    """Of four items the first ``right`` are judged rightly, by every vote."""
    folder = done(line, f"evaluate-{model}")
    said = {f"i{n}": RIGHT if n < right else WRONG for n in range(4)}
    save(folder / "greedy.parquet", [greedy(name, scores) for name, scores in said.items()])
    save(folder / "votes.parquet", [row for name, scores in said.items() for row in votes(name, [scores] * 4)])


@pytest.fixture
def lines(tmp_path: Path) -> tuple[Variant, ...]:
    return variants(SpctRecipe(**{"ablation": ABLATIONS}), tmp_path)


def test_nothing_measured_is_no_report(lines: tuple[Variant, ...]) -> None:
    assert results(lines) is None


def test_what_is_done_is_counted(lines: tuple[Variant, ...]) -> None:
    main, _, hint = lines
    for model, right in (("base", 0), ("rft", 2), ("rl", 3)):
        measured(main, model, right)
    found = results(lines)
    assert found is not None
    assert [(one.model, one.series["greedy"].accuracy.value) for one in found.models] == [
        *(("base", 0.0), ("rft", 0.5), ("rl", 0.75)),
    ]
    assert [(one.series, one.over, one.gain.value, one.paper) for one in found.steps] == [
        *(("rft", "base", 0.5, None), ("rl", "rft", 0.25, 1.1)),
    ]
    assert {one.name for one in found.stages} == {"evaluate-base", "evaluate-rft", "evaluate-rl"}
    assert {one.seconds for one in found.stages} == {3.0}
    (row,) = found.ablations
    assert (row.name, row.against, row.paper, row.paper_against) == ("no-rl", "rl", 68.8, 69.9)
    assert row.difference is not None
    assert row.difference.value == -0.25
    measured(hint, "rft", 1)
    more = results(lines)
    assert more is not None
    assert [(one.name, one.difference and one.difference.value) for one in more.ablations] == [
        *(("no-rl", -0.25), ("no-hint", -0.25)),
    ]


def test_a_stage_with_other_settings_is_not_counted(lines: tuple[Variant, ...], tmp_path: Path) -> None:
    measured(lines[0], "base", 4)
    other = variants(SpctRecipe(**{"evaluate": {"k": 4}}), tmp_path)
    assert results(other) is None
