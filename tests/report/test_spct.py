"""The report of a run of SPCT: what stands in its tables, and that its page lets nothing in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.report.spct import markdown, page, plots, write_reports
from assay.report.spct_tables import tables
from assay.spct.results import AblationFigures, Figure, GainFigures, ModelFigures, SeriesFigures, SpctResult, StageTime


def figure(value: float) -> Figure:
    return Figure(value=value, low=value - 0.02, high=value + 0.02)


def series(value: float, paper: float | None = None) -> SeriesFigures:
    return SeriesFigures(accuracy=figure(value), tied=0.01, read=0.98, paper=paper)


def model(name: str, greedy: float, *, meta: bool = False) -> ModelFigures:
    found = {
        "greedy": series(greedy, 69.9),
        "voting@1": series(0.7),
        "voting@2": series(0.71),
        "voting@8": series(0.74),
    }
    if meta:
        found |= {"meta@2": series(0.72), "meta@8": series(0.77)}
    gain = GainFigures(series="voting@8", over="voting@1", gain=figure(0.04), paper=2.7)
    return ModelFigures(model=name, items=450, tokens=180.4, series=found, gains=(gain,), sources={})


def result(**more: Any) -> SpctResult:
    said: dict[str, Any] = {
        "base": "<script>base",
        "judge": "pointwise",
        "k_meta": None,
        "models": (model("base", 0.3), model("rl", 0.75, meta=True)),
        "steps": (GainFigures(series="rl", over="base", gain=figure(0.45)),),
        "ablations": (
            AblationFigures(
                name="no-hint",
                about="RFT | without hints",
                figures=model("rft", 0.7),
                against="rft",
                difference=figure(-0.05),
                paper=68.0,
                paper_against=68.8,
            ),
        ),
        "stages": (StageTime(name="cold", seconds=150.0, done=True, minutes=2.5),),
        "meta": {"accuracy": 0.812},
    }
    return SpctResult(**said | more)


def test_figures_stand_beside_the_papers() -> None:
    told = markdown(result())
    assert "| + RFT + RL | 75.0 (73.0–77.0) [69.9] |" in told
    assert "| base model | Voting@8 − Voting@1 | +4.0 (+2.0 to +6.0) | +2.7 |" in told
    assert "| + RFT + RL | greedy − greedy of base model | +45.0 (+43.0 to +47.0) | – |" in told
    assert "| RFT \\| without hints | 70.0 (68.0–72.0) [69.9] |" in told
    assert "| -5.0 (-7.0 to -3.0) to + RFT | 68.0, -0.8 |" in told
    assert "| cold | 2 min 30 s | 2.5 min | done |" in told
    assert "Not measured yet: cold start, + RFT." in told
    assert "levels cannot" in told


def test_what_is_not_there_is_not_shown_as_a_figure() -> None:
    told = markdown(result(models=(model("base", 0.3),), ablations=(), meta={}, steps=()))
    assert "The meta RM has not weighed the votes yet." in told
    assert "## Ablations" not in told
    assert "## Meta RM" not in told
    (row,) = next(table for table in tables(result(models=(model("base", 0.3),))) if table.title == "Models").rows
    assert row[4] == "–"


def test_both_curves_begin_at_one_vote() -> None:
    plot, alone = plots(result())
    assert [line.colour for line in alone.lines] == [1, 1], "the colour that it has among all"
    lines = {line.name: [point.x for point in line.points] for line in plot.lines}
    assert lines["+ RFT + RL: MetaRM@k"] == [1, 2, 8]
    assert lines["+ RFT + RL: Voting@k"] == [1, 2, 8]
    assert [level.name for level in plot.levels] == ["base model: greedy", "+ RFT + RL: greedy"]


def test_all_forms_are_written_and_the_page_escapes(tmp_path: Path) -> None:
    files = write_reports(tmp_path, result())
    assert [path.name for path in files] == ["report.md", "report.json", "report.png", "report.html"]
    assert (
        json.loads((tmp_path / "report.json").read_text())["models"][1]["series"]["meta@8"]["accuracy"]["value"] == 0.77
    )
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert "<script>" not in page(result())
    assert "&lt;script&gt;base" in page(result())
