"""Tables of scores and decisions that somebody else made."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.catalog import find_benchmark
from assay.bench.counting import Counting
from assay.bench.loading import load_benchmark
from assay.bench.running.external import read_table
from assay.bench.running.result import result_of
from assay.bench.running.series import ONCE, Series
from assay.core.errors import InputError
from assay.core.types import FailureKind

from ..shared import DATA, EXACT, golden, needs_shared
from .doubles import pairs, units_of


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "id,score_0,score_1\nq0,0.5,-1\nq1,2,2e3\n",
        'id,scores\nq0,"[0.5, -1]"\nq1,"[2, 2000]"\n',
        "item_id,score_1,score_0\nq1,2000,2\nq0,-1,0.5\n",
    ],
)
def test_scores_in_a_table(text: str, tmp_path: Path) -> None:
    _, units = units_of("pairs", pairs(2))
    found = {one.unit.item.id: one.answer.scores for one in read_table(table(tmp_path, text), units)}
    assert found == {"q0": (0.5, -1.0), "q1": (2.0, 2000.0)}


def test_choices_failures_and_single_scores(tmp_path: Path) -> None:
    _, units = units_of("pairs", pairs(3))
    rows = [{"id": "q0", "choice": 1}, {"id": "q1", "failure": "timeout"}, {"id": "q2", "choice": None}]
    path = table(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "t.jsonl")
    answers = [one.answer for one in read_table(path, units)]
    assert [a.choice for a in answers] == [1, None, None]
    assert [a.failure for a in answers] == [None, FailureKind.TIMEOUT, FailureKind.PARSE_ERROR]
    _, units = units_of("single", [{"id": "x", "prompt": "q", "candidates": ["a"], "gold": [1]}])
    pq.write_table(pa.table({"id": ["x"], "score": [0.25]}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", units)[0].answer.scores == (0.25,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,choice\nq0,0\n", "1 items without a row: 'q1'"),
        ("id,choice\nq0,0\nq1,1\nq1,1\n", "1 items with several rows: 'q1'"),
        ("id,choice\nq0,0\nq1,1\nq9,1\n", "1 items unknown: 'q9'"),
        ("id,choice\nq0,0\nq1,2\n", "line 3: choice must be an index from 0 to 1, not '2'"),
        ("id,score_0,score_1\nq0,0,nan\nq1,1,1\n", "line 2: a score must be a finite number, not 'nan'"),
        ("id,score_0,score_2\nq0,0,1\nq1,1,1\n", "numbered score_0, score_1, ... without a gap"),
        ("id,score\nq0,1\nq1,1\n", "line 2: 1 scores for 2 candidates"),
        ("name,choice\nq0,1\n", "no id in it"),
        ("id,verdict\nq0,1\nq1,1\n", "no answer in it"),
        ("id,failure\nq0,sleepy\nq1,timeout\n", "unknown failure 'sleepy'"),
        ('id,decisions\nq0,"[""A>B""]"\nq1,\n', "decisions are two, on a pair"),
        ('id,decisions\nq0,"[""A>B"", ""C""]"\nq1,\n', "a decision is one of"),
        ("id,scores\nq0,x\nq1,\n", "not a list: 'x'"),
    ],
)
def test_what_does_not_fit_is_named(text: str, told: str, tmp_path: Path) -> None:
    _, units = units_of("pairs", pairs(2))
    with pytest.raises(InputError) as error:
        read_table(table(tmp_path, text), units)
    assert told in str(error.value)


@needs_shared
def test_decisions_of_the_official_judgebench_run() -> None:
    """The published row of Skywork-Reward-Llama-3.1-8B out of the official decisions."""
    name = "skywork-reward-llama3.1-8b_gpt4o"
    benchmark = find_benchmark("judgebench")
    units = load_benchmark(benchmark, DATA / "judgebench").units
    judged = read_table(DATA / "golden" / f"judgebench_decisions_{name}.jsonl", units)
    series = [Series(name=ONCE, k=1, judged=tuple(judged))]
    found = result_of(benchmark, series, Counting(), draws=0)
    told = golden("judgebench")
    first = "single_game_first_order_Overall"
    (row,) = [value for value in told.values() if isinstance(value, dict) and first in value]
    assert found.aggregate.score.value == pytest.approx(row["Overall"], abs=EXACT)
    assert found.orders is not None
    assert found.orders.first == pytest.approx(row[first], abs=EXACT)


COLUMNS = ("id", "score_0", "score_1", "choice", "scores", "decisions", "failure")


@given(rows=st.lists(st.dictionaries(st.sampled_from(COLUMNS), st.text(max_size=8), max_size=5), max_size=4))
def test_any_table_is_read_or_refused(rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    _, units = units_of("pairs", pairs(2))
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        found = read_table(path, units)
    except InputError:
        return
    assert sorted(one.unit.item.id for one in found) == ["q0", "q1"]
