import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.data import BadRecord, JsonLines, Record, formats, open_parts, open_source


def read(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(open_source(path).records)


def test_a_broken_line_is_named_and_the_rest_is_read(tmp_path):
    lines = [json.dumps({"a": i}) for i in range(1, 11)]
    lines[6] = '{"a": 7'
    records = read(tmp_path, "x.jsonl", "\n".join(lines))
    assert records[6].line == 7
    assert "broken JSON" in records[6].reason
    assert [r.row["a"] for r in records if isinstance(r, Record)] == [1, 2, 3, 4, 5, 6, 8, 9, 10]


def test_blank_lines_are_skipped_and_counted(tmp_path):
    assert read(tmp_path, "x.jsonl", '{"a": 1}\r\n\r\n  \n{"a": 2}') == [
        Record(line=1, row={"a": 1}),
        Record(line=4, row={"a": 2}),
    ]


@pytest.mark.parametrize("line", ["3", "[1]", '"x"', "null", "[" * 100_000, '{"a": ' + "1" * 5000 + "}", "{'a': 1}"])
def test_a_line_that_is_no_object_is_bad(tmp_path, line):
    (record,) = read(tmp_path, "x.jsonl", line)
    assert isinstance(record, BadRecord)


def test_a_byte_order_mark_is_taken_off(tmp_path):
    assert read(tmp_path, "x.jsonl", b'\xef\xbb\xbf{"a": 1}') == [Record(line=1, row={"a": 1})]
    assert read(tmp_path, "x.json", b'\xef\xbb\xbf[{"a": 1}]') == [Record(line=1, row={"a": 1})]
    assert read(tmp_path, "x.csv", b"\xef\xbb\xbfa,b\n1,2\n") == [Record(line=2, row={"a": "1", "b": "2"})]


def test_line_separators_inside_json_do_not_end_a_line(tmp_path):
    assert read(tmp_path, "x.jsonl", '{"a": "x\u2028y\x85z"}') == [Record(line=1, row={"a": "x\u2028y\x85z"})]


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_text_that_is_not_utf8_names_the_byte(tmp_path, name, bom):
    head = bom + b"good line\n"
    with pytest.raises(InputError, match=rf"not UTF-8: byte 0xe9 at offset {len(head) + 3}.*iconv"):
        read(tmp_path, name, head + b"caf\xe9\n")


def test_utf16_is_recognised(tmp_path):
    with pytest.raises(InputError, match="iconv -f utf-16"):
        read(tmp_path, "x.jsonl", '{"a": 1}'.encode("utf-16"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a": 1}, {"a": 2}]', [1, 2]),
        ('{"data": [{"a": 1}, {"a": 2}], "version": 3}', [1, 2]),
        ('{"a": 1}', [1]),
        ('{"a": 1}\n{"a": 2}', [1, 2]),
    ],
)
def test_the_forms_of_a_json_document(tmp_path, text, expected):
    assert [r.row["a"] for r in read(tmp_path, "x.json", text)] == expected


def test_a_broken_json_document_names_the_place(tmp_path):
    with pytest.raises(InputError, match="line 2, column"):
        read(tmp_path, "x.json", '[{"a": 1},\n {"a": }]')


def test_an_entry_of_a_json_list_that_is_no_object_is_bad(tmp_path):
    records = read(tmp_path, "x.json", '[{"a": 1}, 5, {"a": 3}]')
    assert [type(r) for r in records] == [Record, BadRecord, Record]
    assert records[1] == BadRecord(line=2, reason="a row must be a JSON object, not a number")


def test_csv_rows_have_the_line_they_start_on(tmp_path):
    records = read(tmp_path, "x.csv", 'a,b\n1,"two\nlines"\n3\n4,5\n')
    assert records == [
        Record(line=2, row={"a": "1", "b": "two\nlines"}),
        BadRecord(line=4, reason="the row has 1 cells, the header has 2"),
        Record(line=5, row={"a": "4", "b": "5"}),
    ]


def test_an_open_quote_in_csv_is_named(tmp_path):
    records = read(tmp_path, "x.csv", 'a,b\n1,2\n3,"open\n5,6\n')
    assert records[0] == Record(line=2, row={"a": "1", "b": "2"})
    assert records[1].line == 3
    assert "quote" in records[1].reason


def test_a_long_cell_is_read(tmp_path):
    long = "x" * 300_000
    assert read(tmp_path, "x.csv", f"a\n{long}\n")[0].row["a"] == long


def test_a_doubled_column_is_refused(tmp_path):
    with pytest.raises(InputError, match="column twice"):
        read(tmp_path, "x.csv", "a,a\n1,2\n")


def test_tab_separated(tmp_path):
    assert read(tmp_path, "x.tsv", "a\tb\n1,0\t2\n") == [Record(line=2, row={"a": "1,0", "b": "2"})]


def test_parquet_keeps_nested_values(tmp_path):
    path = tmp_path / "x.parquet"
    rows = [{"a": i, "c": [{"text": str(i)}]} for i in range(1200)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    records = list(open_source(path).records)
    assert [r.line for r in records] == list(range(1, 1201))
    assert records[1199].row == {"a": 1199, "c": [{"text": "1199"}]}


def test_a_broken_parquet_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read(tmp_path, "x.parquet", b"PAR1 and then nothing")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30)))
def test_any_text_gives_one_record_for_each_line_that_is_not_blank(tmp_path_factory, lines):
    content = "\n".join(line.replace("\n", " ") for line in lines).encode("utf-8", "replace")
    if not content:
        return
    records = read(tmp_path_factory.mktemp("any"), "x.jsonl", content)
    expected = [n for n, line in enumerate(content.split(b"\n"), 1) if line.decode().removeprefix("\ufeff").strip()]
    assert [r.line for r in records] == expected


def in_parts(path):
    return [record for part in open_parts(path) for record in (part.records() if isinstance(part, JsonLines) else part)]


@pytest.mark.parametrize("size", [1, 9, 1 << 18])
def test_lines_in_parts_are_the_lines_of_the_file(tmp_path, monkeypatch, size):
    monkeypatch.setattr(formats, "PART_BYTES", size)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": \n[]\n{"a": "\xe4\xb8\xad"}\n  \n{"a": 3}')
    records = in_parts(path)
    assert records == list(open_source(path).records)
    assert [record.line for record in records] == [1, 3, 4, 5, 7]


@pytest.mark.parametrize("size", [1, 1 << 18])
def test_a_part_that_is_not_utf8_names_the_byte_of_the_file(tmp_path, monkeypatch, size):
    monkeypatch.setattr(formats, "PART_BYTES", size)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n{"a": "\xe9"}\n')
    with pytest.raises(InputError, match=r"x.jsonl' is not UTF-8: byte 0xe9 at offset 28.*latin-1"):
        in_parts(path)


def test_other_formats_come_in_parts_of_rows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a\n" + "1\n" * 600)
    assert [len(part) for part in open_parts(path)] == [512, 88]
    with pytest.raises(InputError, match="no such file"):
        in_parts(tmp_path / "y.csv")
