import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.errors import InputError
from assay.data import BadRecord, FieldMap, load_items, stream_items


def write(path, rows):
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return path


def row(i, **more):
    return {"id": f"q{i}", "prompt": f"{i} + 1?", "candidates": [str(i + 1), str(i)], "reference": str(i + 1), **more}


def test_bad_rows_stand_in_their_place_with_their_line(tmp_path):
    rows = [row(i, gold=[1, 0]) for i in range(1, 11)]
    rows[6] = '{"id": "q7", "prompt": '
    rows[8]["candidates"] = None
    rows[9]["gold"] = [1]
    loaded = load_items(write(tmp_path / "x.jsonl", rows))
    assert [i.id for i in loaded.items] == ["q1", "q2", "q3", "q4", "q5", "q6", "q8"]
    assert [b.line for b in loaded.bad] == [7, 9, 10]
    assert [b.reason.split(":")[0] for b in loaded.bad] == [
        "broken JSON",
        "the candidate field 'candidates' is missing",
        "'gold'",
    ]
    order = [x.line if isinstance(x, BadRecord) else x.id for x in stream_items(tmp_path / "x.jsonl")]
    assert order == ["q1", "q2", "q3", "q4", "q5", "q6", 7, "q8", 9, 10]


def test_a_field_that_is_in_no_row_is_an_error_with_the_nearest(tmp_path):
    path = write(tmp_path / "x.jsonl", [row(1), row(2)])
    with pytest.raises(InputError, match=r"no field 'candidate'.*did you mean 'candidates'.*id, prompt, candidates"):
        load_items(path, FieldMap(candidates=("candidate",)))


def test_a_field_that_one_row_lacks_is_a_fault_of_that_row(tmp_path):
    rows = [{"q": "a", "x": "1"}, {"q": "b"}, {"q": "c", "x": "3"}]
    loaded = load_items(write(tmp_path / "x.jsonl", rows), FieldMap(prompt="q", candidates=("x",)))
    assert [i.id for i in loaded.items] == ["x-1", "x-3"]
    assert loaded.bad == (BadRecord(line=2, reason="the candidate field 'x' is missing"),)


def test_gold_is_only_missed_when_it_is_needed(tmp_path):
    path = write(tmp_path / "x.jsonl", [row(1), row(2)])
    assert [i.gold for i in load_items(path).items] == [None, None]
    with pytest.raises(InputError, match=r"known to be the gold: say gold=<field>"):
        load_items(path, need=("candidates", "gold"))
    path = write(tmp_path / "y.jsonl", [row(1, gold=[1, 0]), row(2)])
    loaded = load_items(path, need=("gold",))
    assert loaded.bad == (BadRecord(line=2, reason="gold is missing: 'gold'"),)


def test_a_file_without_answers_says_so(tmp_path):
    path = write(tmp_path / "x.jsonl", [{"question": "q", "answer": "#### 4"}])
    with pytest.raises(
        InputError, match=r"known to be the candidates: say candidates=<field>; its fields are question"
    ):
        load_items(path)
    assert load_items(path, need=()).items[0].reference == "4"


def test_what_is_mapped_goes_over_what_is_detected(tmp_path):
    rows = [{"question": "q", "ground_truth": "4", "m": {"s": "5", "ok": False}, "n": {"s": "4", "ok": True}}]
    fields = FieldMap.parse(["candidates=m.s,n.s", "gold=m.ok,n.ok"])
    loaded = load_items(write(tmp_path / "x.jsonl", rows), fields)
    (item,) = loaded.items
    assert (item.question, item.reference, item.gold) == ("q", "4", (0.0, 1.0))
    assert str(loaded.fields) == "prompt=question candidates=m.s,n.s reference=ground_truth gold=m.ok,n.ok"


def test_equal_ids_are_told_apart_and_named(tmp_path):
    rows = [row(1, id=name) for name in ["a", "a", "b", "a", "a~2", "a"]]
    loaded = load_items(write(tmp_path / "x.jsonl", rows))
    assert [i.id for i in loaded.items] == ["a", "a~2", "b", "a~3", "a~2~2", "a~4"]
    assert loaded.renamed == ("a~2", "a~3", "a~2~2", "a~4")


def test_a_source_without_any_usable_row_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"no row of .* can be read: line 1: broken JSON"):
        load_items(write(tmp_path / "x.jsonl", ["nope", "nope"]))
    with pytest.raises(InputError, match=r"no row of .* can be read: there is none in it"):
        load_items(write(tmp_path / "y.json", ["[]"]))
    with pytest.raises(InputError, match=r"becomes an item: line 1: the prompt 'prompt' is blank"):
        load_items(write(tmp_path / "z.jsonl", [row(1, prompt=" ")]))


def test_csv_and_parquet_give_the_same_items(tmp_path):
    rows = [row(i, gold=[1, 0]) for i in (1, 2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    header, *lines = [
        "id,prompt,candidates,reference,gold",
        *(
            f'{r["id"]},{r["prompt"]},"[""{r["candidates"][0]}"", ""{r["candidates"][1]}""]",{r["reference"]},"[1, 0]"'
            for r in rows
        ),
    ]
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]))
    write(tmp_path / "x.jsonl", rows)
    expected = load_items(tmp_path / "x.jsonl").items
    assert load_items(tmp_path / "x.parquet").items == expected
    assert load_items(tmp_path / "x.csv").items == expected


def test_a_reference_that_the_first_row_lacks_is_found_in_later_ones(tmp_path):
    path = tmp_path / "mixed.jsonl"
    rows = [
        {"prompt": "q", "candidates": ["x", "y"]},
        {"prompt": "q", "candidates": ["x", "y"], "reference": "r", "gold": [1, 0]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = load_items(path).items
    assert (first.reference, first.gold) == (None, None)
    assert (second.reference, second.gold) == ("r", (1, 0))
