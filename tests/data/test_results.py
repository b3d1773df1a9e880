import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.errors import InputError
from assay.data import ResultRow, read_results, result_row
from assay.data.results import by_judge

ROW = {
    "item_id": "a",
    "candidate": 1,
    "judge": "math",
    "judge_identity": "math:1",
    "outcome": "verdict",
    "detail": None,
    "flags": ["lenient"],
    "scores": [1.0],
    "choice": None,
    "gold": [1.0],
    "n": 1,
    "metadata": '{"topic": "dates"}',
}


def test_null_is_not_said_and_other_columns_are_left_out():
    row = result_row({**ROW, "seed": None, "more": 5})
    assert (row.scores, row.flags, row.seed, row.detail) == ((1.0,), ("lenient",), None, "")
    assert row.metadata == {"topic": "dates"}


def test_a_row_of_something_else_is_refused():
    with pytest.raises(InputError, match="lacks judge, outcome"):
        result_row({"item_id": "a", "prompt": "q"})
    with pytest.raises(InputError, match="no JSON"):
        result_row({**ROW, "metadata": "{"})
    with pytest.raises(InputError, match="must be an object"):
        result_row({**ROW, "metadata": "[]"})
    for value in (5, "7, 5"):
        with pytest.raises(InputError, match="the scores of a result must be a list, not"):
            result_row({**ROW, "scores": value})


def test_a_file_of_something_else_is_named_with_its_line_and_what_to_give(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps(ROW) + '\n{"prompt": "q", "answer": "a"}')
    with pytest.raises(InputError) as refused:
        read_results(tmp_path / "x.jsonl")
    told = str(refused.value)
    assert told.startswith(f"'{tmp_path / 'x.jsonl'}', line 2: this is no row of results: it lacks item_id, judge,")
    assert told.endswith("; give a file that assay judge wrote with --out")


def test_parquet_and_jsonl(tmp_path):
    pq.write_table(pa.Table.from_pylist([ROW]), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text(json.dumps(ROW))
    assert read_results(tmp_path / "x.parquet") == read_results(tmp_path / "x.jsonl") == [result_row(ROW)]


def test_a_broken_line_of_results_is_an_error(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps(ROW) + "\n{")
    with pytest.raises(InputError, match="line 2: broken JSON"):
        read_results(tmp_path / "x.jsonl")


def test_ranking():
    assert ResultRow(item_id="a", judge="j", outcome="verdict", n=3, choice=2).ranking == (0.0, 0.0, 1.0)
    assert ResultRow(item_id="a", judge="j", outcome="verdict", n=2, scores=(3.0, 9.0)).ranking == (3.0, 9.0)
    assert ResultRow(item_id="a", judge="j", outcome="parse_error", n=2).ranking is None


def test_own_gold():
    def row(**more):
        return ResultRow(item_id="a", judge="j", outcome="verdict", **more)

    assert row(gold=(0.0, 1.0), candidate=1).own_gold == (1.0,)
    assert row(gold=(1.0,), candidate=3).own_gold == (1.0,)
    assert row(gold=(0.0, 1.0)).own_gold == (0.0, 1.0)
    assert row(gold=(0.0, 1.0), candidate=2).own_gold is None
    assert row(candidate=0).own_gold is None


def test_generations_that_no_judge_read_are_left_out(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "judge": "", "outcome": "generated"}))
    assert [row.judge for row in read_results(tmp_path / "x.jsonl")] == ["math"]


def test_a_failure_without_a_model_stays_with_its_judge():
    rows = [
        ResultRow(item_id="a", judge="j", outcome="timeout"),
        ResultRow(item_id="b", judge="j", outcome="verdict", model="m"),
        ResultRow(item_id="c", judge="j", outcome="verdict", model="other"),
        ResultRow(item_id="d", judge="k", outcome="timeout"),
    ]
    found = {key: [row.item_id for row in group] for key, group in by_judge(rows).items()}
    assert found == {("j", "", "m"): ["a", "b"], ("j", "", "other"): ["c"], ("k", "", ""): ["d"]}
