import pytest

from assay.core.errors import InputError
from assay.data import BadRecord, Record, open_source


def rows(source):
    return list(open_source(source).records)


def test_a_missing_file_names_the_nearest_one(tmp_path):
    (tmp_path / "questions.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"no such file: .*quesions\.jsonl.*did you mean .*questions\.jsonl"):
        open_source(tmp_path / "quesions.jsonl")


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(InputError, match=r"no folder '.*nowhere' either"):
        open_source(tmp_path / "nowhere" / "x.jsonl")


def test_a_missing_relative_file_is_not_taken_for_a_hub_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("data/x", "other/x.jsonl", "./data/x"):
        with pytest.raises(InputError, match="no such file"):
            open_source(name)


def test_a_directory_is_refused_with_a_file_in_it(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(InputError, match=r"is a directory: name a file in it, such as .*a\.csv"):
        open_source(tmp_path)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.touch()
    with pytest.raises(InputError, match=r"x\.jsonl' is empty"):
        open_source(path)


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    path = tmp_path / "x.xlsx"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"\.jsonl.*\.parquet"):
        open_source(path)


@pytest.mark.parametrize("text", ['{"a": 1}\n{"a": 2}\n', '[{"a": 1}, {"a": 2}]'])
def test_a_file_without_a_known_suffix_is_read_by_its_first_character(tmp_path, text):
    path = tmp_path / "dump.txt"
    path.write_text(text)
    assert rows(path) == [Record(line=1, row={"a": 1}), Record(line=2, row={"a": 2})]


def test_the_stem_has_no_suffix(tmp_path):
    path = tmp_path / "train.v2.jsonl"
    path.write_text("{}")
    assert open_source(path).stem == "train"


def test_upper_case_suffixes_are_known(tmp_path):
    path = tmp_path / "X.JSONL"
    path.write_text("{}\nnope\n")
    assert [type(r) for r in rows(path)] == [Record, BadRecord]
