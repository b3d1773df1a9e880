"""The files of a report of benchmark runs: Markdown, JSON, one picture a benchmark, one page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

from assay.core.files import write_whole

from ..blocks import Block, picture_of
from ..page import write_page
from ..plot_picture import plot_block
from ..row_picture import legend_block, rows_block
from .bias import length_bias, length_correlation
from .comparison import Comparison
from .comparison_page import both_rows, comparison_page, difference_rows, named
from .comparison_text import comparison_markdown
from .figures import benchmark_names, part_rows, score_rows, token_rows
from .markdown import bench_markdown
from .page import bench_page, title
from .plots import Size, overall_scaling, overall_sizes, plots_of
from .run import BenchmarkRun, Run
from .told import caveats, lost_votes, places

Format = Literal["md", "json", "png", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
NAME, COMPARED = "report", "comparison"


def write_reports(
    folder: Path, runs: Sequence[Run], known: Mapping[str, Size], formats: Sequence[Format] = FORMATS
) -> list[Path]:
    """Write the report in each format; returns the files.

    Raises:
        InputError: a table of a run cannot be read. OutputError: a file cannot be written.
    """
    found: list[Path] = []
    if "md" in formats:
        found.append(folder / f"{NAME}.md")
        write_page(found[-1], bench_markdown(runs, known))
    if "json" in formats:
        found.append(folder / f"{NAME}.json")
        write_page(found[-1], _json(report_json(runs, known)))
    if "png" in formats:
        found += _pictures(folder, runs, known)
    if "html" in formats:
        found.append(folder / f"{NAME}.html")
        write_page(found[-1], bench_page(runs, known))
    return found


def write_comparison(folder: Path, found: Comparison, formats: Sequence[Format] = FORMATS) -> list[Path]:
    """Write the comparison of two runs in each format; returns the files. Raises OutputError."""
    paths = {format: folder / f"{COMPARED}.{format}" for format in formats}
    if "md" in paths:
        write_page(paths["md"], comparison_markdown(found))
    if "json" in paths:
        write_page(paths["json"], _json(comparison_json(found)))
    if "png" in paths:
        blocks = [rows_block(both_rows(named(found))), rows_block(difference_rows(named(found)))]
        head = f"{found.after} against {found.before}"
        write_whole(paths["png"], picture_of(head, [legend_block((found.before, found.after)), *blocks]).png())
    if "html" in paths:
        write_page(paths["html"], comparison_page(found))
    return list(paths.values())


def comparison_json(found: Comparison) -> dict[str, Any]:
    """The comparison as JSON, without its draws."""
    told = asdict(found)
    for one, own in zip(told["benchmarks"], found.benchmarks, strict=True):
        del one["draws"]
        one["figures"] = [asdict(figure) | {"difference": figure.value} for figure in own.figures]
        if own.signs is not None:
            one["signs"] |= {"p": own.signs.p, "test": "mcnemar" if own.signs.binary else "sign"}
    if found.overall is not None:
        told["overall"]["difference"] = found.overall.value
    return {"assay_bench_comparison": 1, **told}


def report_json(runs: Sequence[Run], known: Mapping[str, Size]) -> dict[str, Any]:
    """Everything that the report shows, as JSON: each run's scores with what was made of them."""
    return {
        "assay_bench_report": 1,
        "runs": [
            {
                "name": run.name,
                "judge": run.judge,
                "overall": asdict(run.overall),
                "size": asdict(known[run.name]) if run.name in known else None,
                "benchmarks": [_benchmark(one) for one in run.benchmarks],
            }
            for run in runs
        ],
    }


def _benchmark(one: BenchmarkRun) -> dict[str, Any]:
    choices, single = length_bias(one.answers), length_correlation(one.answers)
    return {
        **one.score.model_dump(mode="json"),
        "caveats": caveats(one),
        "votes_without_a_verdict": lost_votes(one),
        "length_bias": None if choices is None else asdict(choices),
        "length_correlation": None if single is None else asdict(single),
        "position_bias": [
            {"place": p.place, "mean": p.mean, "fair": p.fair, "items": p.items, "votes": p.votes}
            | ({"low": p.low, "high": p.high} if p.items > 1 else {})
            for p in places(one)
        ],
    }


def _pictures(folder: Path, runs: Sequence[Run], known: Mapping[str, Size]) -> list[Path]:
    """``report.png`` with the scores, and ``report-<benchmark>.png`` for each."""
    over = [plot for plot in (overall_scaling(runs), *overall_sizes(runs, known)) if plot is not None]
    names = [legend_block([run.name for run in runs])] if len(runs) > 1 else []
    pictures: dict[str, list[Block]] = {title(runs): [*names, rows_block(score_rows(runs)), *map(plot_block, over)]}
    paths = [folder / f"{NAME}.png"]
    for name in benchmark_names(runs):
        tokens = token_rows(runs, name)
        shown = next(one.score.title for run in runs if (one := run.benchmark(name)) is not None)
        blocks = [*names, rows_block(part_rows(runs, name)), *map(plot_block, plots_of(runs, known, name))]
        pictures[f"{shown}: {title(runs)}"] = [*blocks, *([rows_block(tokens)] if tokens else [])]
        paths.append(folder / f"{NAME}-{name}.png")
    for path, (head, blocks) in zip(paths, pictures.items(), strict=True):
        write_whole(path, picture_of(head, blocks).png())
    return paths


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
