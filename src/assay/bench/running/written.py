"""The files of a run, in its folder: ``run.json``, and for each benchmark ``score.json``, ``answers.parquet`` and
``cases.parquet`` beside the votes.

``score.json``, ``answers.parquet`` and ``cases.parquet`` follow from the answers alone: two runs with equal answers
have equal bytes. What differs from run to run (times, calls, caches) stands in ``run.json``. No file but the votes'
holds any text of the benchmark, and those do not either where its authors ask for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.core.files import whole, write_whole

from ..score import Part, Table, cell_path
from ..unit import Answer, Judged
from .lengths import Lengths
from .result import Result
from .series import Series

RUN_JSON, SCORE_JSON, ANSWERS, CASES = "run.json", "score.json", "answers.parquet", "cases.parquet"
FORMAT = 1

_ANSWER_COLUMNS = pa.schema(
    [
        ("series", pa.string()),
        ("unit", pa.string()),
        ("subset", pa.string()),
        ("case", pa.string()),
        ("gold", pa.list_(pa.float64())),
        ("lengths", pa.list_(pa.int64())),
        ("scores", pa.list_(pa.float64())),
        ("choice", pa.int64()),
        ("failure", pa.string()),
        ("by_order", pa.string()),
        ("lenient", pa.string()),
    ]
)
_CASE_COLUMNS = pa.schema(
    [
        ("series", pa.string()),
        ("subset", pa.string()),
        ("case", pa.string()),
        ("component", pa.string()),
        ("value", pa.float64()),
    ]
)


def write_score(folder: Path, result: Result, lengths: Mapping[str, Mapping[str, Lengths]], told: Any) -> None:
    """``score.json``; ``told``: what it says of judge, data and asking.

    Raises:
        OutputError: it cannot be written.
    """
    write_json(folder / SCORE_JSON, {"assay_bench": FORMAT, **score_json(result, lengths), "asked": told})


def score_json(result: Result, lengths: Mapping[str, Mapping[str, Lengths]]) -> dict[str, Any]:
    """A result as JSON, the official score first."""
    found, benchmark = result.aggregate, result.benchmark
    interval = found.intervals.get("")
    return {
        "benchmark": benchmark.name,
        "score": found.score.value,
        "interval": None if interval is None else asdict(interval),
        "of": result.headline,
        "counting": result.counting.model_dump(),
        "by_ties": dict(result.by_ties),
        "by_failures": dict(result.by_failures),
        "units": result.units,
        "cases": found.counted,
        "failures": dict(result.failures),
        "tied": result.tied,
        "parts": [_part(part, "", result) for part in found.score.parts],
        "beside": dict(found.score.beside),
        "tables": [_table(table, result) for table in found.score.tables],
        "series": [asdict(one) for one in result.series],
        "orders": None if result.orders is None else asdict(result.orders),
        "seeds": None if result.seeds is None else asdict(result.seeds),
        "lengths": {name: {subset: asdict(own) for subset, own in one.items()} for name, one in lengths.items()},
        "excluded": list(found.excluded),
        "incomplete": list(found.incomplete),
        "missing_subsets": list(found.missing),
        "unofficial_subsets": list(found.unofficial),
        "title": benchmark.title,
        "license": benchmark.license,
    }


def _part(part: Part, prefix: str, result: Result) -> dict[str, Any]:
    path = f"{prefix}{part.name}"
    interval = result.aggregate.intervals.get(path)
    return {
        "name": part.name,
        "value": part.value,
        "interval": None if interval is None else asdict(interval),
        "n": part.n,
        "parts": [_part(inner, f"{path}/", result) for inner in part.parts],
    }


def _table(table: Table, result: Result) -> dict[str, Any]:
    intervals = result.aggregate.intervals
    rows = [
        {
            "name": row.name,
            "n": row.n,
            "values": list(row.values),
            "intervals": [
                None if found is None else asdict(found)
                for column in table.columns
                for found in (intervals.get(cell_path(table, row, column)),)
            ],
        }
        for row in table.rows
    ]
    return {"name": table.name, "about": table.about, "columns": list(table.columns), "rows": rows}


def write_answers(folder: Path, series: Sequence[Series]) -> None:
    """``answers.parquet``: a row for each unit of each series. Raises OutputError."""
    _write_table(
        folder / ANSWERS, (_answer_row(one, judged) for one in series for judged in one.judged), _ANSWER_COLUMNS
    )


def _answer_row(series: Series, judged: Judged) -> dict[str, Any]:
    unit, answer = judged.unit, judged.answer
    return {
        "series": series.name,
        "unit": unit.item.id,
        "subset": unit.subset,
        "case": unit.case,
        "gold": list(unit.item.gold or ()),
        # Characters of each candidate, for the bias of length: a number, where its text may not be kept.
        "lengths": [len(candidate.text) for candidate in unit.item.candidates],
        **_answer(answer),
        "by_order": json.dumps([_answer(one) for one in judged.by_order]) if judged.by_order else None,
        "lenient": None if judged.lenient is None else json.dumps(_answer(judged.lenient)),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "scores": None if answer.scores is None else list(answer.scores),
        "choice": answer.choice,
        "failure": None if answer.failure is None else str(answer.failure),
    }


def write_cases(folder: Path, result: Result) -> None:
    """``cases.parquet``: what every case of every series is worth, a row for each component. Raises OutputError."""
    rows = (
        {"series": name, "subset": one.subset, "case": one.case, "component": component, "value": value}
        for name, found in result.measured.items()
        for one in sorted(found.measured, key=lambda one: (one.subset, one.case))
        for component, value in sorted(one.values.items())
    )
    _write_table(folder / CASES, rows, _CASE_COLUMNS)


def _write_table(path: Path, rows: Iterable[Mapping[str, Any]], columns: pa.Schema) -> None:  # pyright: ignore[reportUnknownParameterType]
    table = pa.Table.from_pylist(list(rows), schema=columns)
    with whole(path, what="the result") as partial:
        pq.write_table(table, partial, compression="zstd")


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """A JSON document, whole or not at all. Raises OutputError."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text, what="the result")


def read_json(path: Path) -> dict[str, Any] | None:
    """What an earlier call wrote; None where there is nothing, or something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "assay_bench" in found else None
