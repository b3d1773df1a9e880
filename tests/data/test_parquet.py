import pytest

from assay.core.errors import InputError, OutputError
from assay.data import load_items
from assay.data.parquet import BATCH, write_parquet


def test_rows_with_different_keys_are_read_back(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = [
        {"id": "a", "prompt": "q", "candidates": ["x"], "gold": [1.0], "metadata": {"kind": "k"}},
        {
            "id": "b",
            "prompt": "q",
            "candidates": ["x", "y"],
            "gold": [0.0, 1.0],
            "reference": "r",
            "metadata": {"line": "l"},
        },
    ]
    assert write_parquet(path, iter(rows)) == 2
    first, second = load_items(path).items
    assert (first.reference, second.reference) == (None, "r")
    assert first.metadata["kind"] == "k"
    assert second.gold == (0, 1)


def test_more_rows_than_a_batch_and_keys_that_come_too_late(tmp_path):
    path = tmp_path / "rows.parquet"
    assert write_parquet(path, ({"n": at} for at in range(BATCH + 10))) == BATCH + 10
    late = [{"n": 1}] * BATCH + [{"m": 1}]
    with pytest.raises(InputError, match=r"has the keys \['m'\]"):
        write_parquet(path, late)
    with pytest.raises(InputError, match="does not fit"):
        write_parquet(path, [{"n": 1}] * BATCH + [{"n": "text"}])
    assert not (tmp_path / "rows.parquet.partial").exists()


def test_nothing_and_nowhere_are_errors(tmp_path):
    with pytest.raises(InputError, match="no rows"):
        write_parquet(tmp_path / "rows.parquet", [])
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        write_parquet(tmp_path / "file" / "rows.parquet", [{"n": 1}])
