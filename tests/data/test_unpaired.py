from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.data import BadRecord, Record, RowError, load_items, open_source
from assay.data.cells import from_cell
from assay.data.unpaired import may_be_unpaired, unpaired

HALF = "a\ud83d b"
WRITTEN = '"a\\ud83d b"'


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"prompt": HALF}, "'prompt' holds half of a surrogate pair ('\\ud83d', character 2)"),
        ({"x": 1, "prompt": [{"role": "user", "content": HALF}]}, "'prompt.0.content' holds half"),
        ({"a": {"b": ["fine", HALF]}, "c": HALF}, "'a.b.1' holds half"),
        ({HALF: 1}, "the name of the field 'a\\ud83d b' holds half"),
        ([HALF], "'0' holds half"),
    ],
)
def test_half_a_pair_is_told_with_its_place(value: Any, said: str) -> None:
    told = unpaired(value)
    assert told is not None
    assert told.startswith(said)


def test_whole_pairs_and_everything_else_are_fine() -> None:
    row = json.loads('{"a": "\\ud83d\\ude00 é", "b": [1, null, {"c": 0.5}]}')
    assert unpaired(row) is None


def test_only_text_with_such_an_escape_is_looked_through() -> None:
    assert may_be_unpaired(WRITTEN)
    assert may_be_unpaired('"\\uD83D"')
    assert not may_be_unpaired('"\\u00e9 d"')


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_such_a_row_is_a_bad_row_with_its_line(tmp_path: Path, name: str) -> None:
    rows = ['{"prompt": "fine \\ud83d\\ude00"}', f'{{"prompt": {WRITTEN}}}']
    path = tmp_path / name
    path.write_text("\n".join(rows) if name == "rows.jsonl" else f"[{', '.join(rows)}]")
    first, second = open_source(path).records
    assert isinstance(first, Record)
    assert isinstance(second, BadRecord)
    assert (second.line, "'prompt' holds half of a surrogate pair" in second.reason) == (2, True)


def test_items_of_it_are_told_too(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(f'{{"prompt": "q", "candidates": ["a"]}}\n{{"prompt": "q", "candidates": [{WRITTEN}]}}\n')
    found = load_items(path)
    assert len(found.items) == 1
    assert [(bad.line, bad.reason.split(" ")[0]) for bad in found.bad] == [(2, "'candidates.0'")]


def test_json_in_the_cell_of_a_table_is_looked_at_as_well(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="holds half of a surrogate pair"):
        from_cell(f"[{WRITTEN}]", '["')
    path = tmp_path / "items.csv"
    path.write_text('prompt,candidates\nq,"[""a\\ud83d b""]"\n')
    with pytest.raises(InputError, match=r"line 2: .*half of a surrogate pair"):
        load_items(path)
