"""Prompts out of files as data sets are published, and what is said where a row is none."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.errors import InputError
from assay.core.types import Message
from assay.rl.evaluation import EvalConfig, load_sets
from assay.rl.prompts import DataConfig, Row, load_prompts

AIME = Path(__file__).parents[2].parent / "shared" / "data" / "aime2024" / "qwen-aime24.jsonl"
ASKED = "Solve it. The last line is Answer: $Answer."
VERL: dict[str, Any] = {
    "data_source": "math_dapo",
    "prompt": [{"content": ASKED, "role": "user"}],
    "ability": "MATH",
    "reward_model": {"ground_truth": "34", "style": "rule-lighteval/MATH_v2"},
    "extra_info": {"index": "9a9b6eb4"},
}
BESIDE = {"data_source": "math_dapo", "ability": "MATH", "extra_info": {"index": "9a9b6eb4"}}


def written(folder: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> str:
    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(
                {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()}
                for row in rows
            )
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def one(folder: Path, row: dict[str, Any], name: str = "rows.jsonl", **keys: Any) -> Row:
    (found,) = load_prompts(written(folder, row, name=name), DataConfig(**keys))
    return found


def said(folder: Path, row: dict[str, Any], name: str = "rows.jsonl", **keys: Any) -> str:
    path = written(folder, row, name=name)
    with pytest.raises(InputError) as caught:
        load_prompts(path, DataConfig(**keys))
    line = 2 if name.endswith(".csv") else 1
    told = str(caught.value)
    assert told.startswith(f"--prompt-data {path!r}, line {line}: ")
    return told.partition(f", line {line}: ")[2]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.parquet", "rows.csv"])
def test_dapo_in_the_form_of_verl_loads_as_published(tmp_path: Path, name: str) -> None:
    row = one(tmp_path, VERL, name)
    assert row.prompt == (Message(role="user", content=ASKED),)
    assert (row.label, row.unlabelled, dict(row.metadata)) == ("34", "", BESIDE)


def test_its_fields_can_be_named_as_well(tmp_path: Path) -> None:
    row = one(tmp_path, VERL, label_key="reward_model.ground_truth", metadata_key="extra_info")
    assert (row.label, dict(row.metadata)) == ("34", {"index": "9a9b6eb4"})


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_dapo_and_aime_in_the_form_of_slime_load_as_published(tmp_path: Path, name: str) -> None:
    row = one(tmp_path, {"prompt": [{"content": ASKED, "role": "user"}], "label": "204"}, name)
    assert (row.prompt, row.label, dict(row.metadata)) == ((Message(role="user", content=ASKED),), "204", {})


def test_a_label_of_its_own_stands_before_that_of_verl(tmp_path: Path) -> None:
    assert one(tmp_path, VERL | {"label": "7", "metadata": {"a": 1}}).label == "7"
    assert dict(one(tmp_path, VERL | {"metadata": {"a": 1}}).metadata) == {"a": 1}


@pytest.mark.skipif(not AIME.exists(), reason="the published rows are not here")
def test_aime_as_qwen_published_it(tmp_path: Path) -> None:
    rows = load_prompts(str(AIME), DataConfig(input_key="problem", label_key="answer"))
    assert (len(rows), rows[0].label) == (30, "204")
    with pytest.raises(InputError, match=r"the field 'prompt' .* did you mean --input-key problem\?"):
        load_prompts(str(AIME), DataConfig())


@pytest.mark.parametrize(
    ("label", "read"), [("2", "2"), (2, "2"), (0.5, "0.5"), (["2"], "2"), ([2], "2"), ("[1, 2]", "[1, 2]"), (0, "0")]
)
def test_a_label_is_a_text(tmp_path: Path, label: Any, read: str) -> None:
    assert one(tmp_path, {"prompt": "q", "label": label}).label == read


@pytest.mark.parametrize("label", [None, "", [], float("nan"), [None]])
def test_a_row_without_a_label_says_why(tmp_path: Path, label: Any) -> None:
    row = one(tmp_path, {"prompt": "q", "label": label, "answer": "2"})
    assert row.label is None
    assert row.unlabelled == (
        "the field 'label' (--label-key) is empty; there are prompt, label, answer; did you mean --label-key answer?"
    )


@pytest.mark.parametrize("label", [["2", "3"], {"a": 1}, True])
def test_what_is_no_label_is_refused(tmp_path: Path, label: Any) -> None:
    told = said(tmp_path, {"prompt": "q", "label": label})
    assert told.startswith("the reference 'label' ")
    assert told.endswith("(--label-key); what else a reward looks at goes into metadata")


def test_one_of_several_labels_can_be_named(tmp_path: Path) -> None:
    assert one(tmp_path, {"prompt": "q", "label": ["2", "3"]}, label_key="label.1").label == "3"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_metadata_may_be_json_text(tmp_path: Path, name: str) -> None:
    row = one(tmp_path, {"prompt": "q", "label": "2", "metadata": '{"level": 3, "tags": ["a"]}'}, name)
    assert dict(row.metadata) == {"level": 3, "tags": ["a"]}


@pytest.mark.parametrize("metadata", ["level 3", "{level: 3}", "[1]", 3])
def test_what_is_no_metadata_is_refused(tmp_path: Path, metadata: Any) -> None:
    told = said(tmp_path, {"prompt": "q", "metadata": metadata})
    assert told == f"'metadata' (--metadata-key) must be an object, got {metadata!r}"


def test_the_cells_of_a_table_hold_chats_lists_and_objects_as_json_text(tmp_path: Path) -> None:
    row = one(tmp_path, {"prompt": [{"role": "user", "content": "1+1"}], "label": ["2"], "metadata": ""}, "rows.csv")
    assert (row.prompt, row.label, dict(row.metadata)) == ((Message(role="user", content="1+1"),), "2", {})
    row = one(tmp_path, {"prompt": '{"a": 1} is what?', "label": "[0, 1]"}, "rows.csv")
    assert (row.prompt, row.label) == ('{"a": 1} is what?', "[0, 1]")


def test_content_may_be_a_list_of_text_parts(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "1+1"}, {"type": "text", "text": "="}]
    row = one(tmp_path, {"prompt": [{"role": "user", "content": parts}]})
    assert row.prompt == (Message(role="user", content="1+1="),)
    image = [*parts, {"type": "image_url", "image_url": {"url": "data:,"}}]
    told = said(tmp_path, {"prompt": [{"role": "user", "content": image}]})
    assert told.endswith("'prompt': a turn holds a part of type 'image_url'; models are trained on text alone")


def test_a_text_that_is_no_unicode_is_told_with_its_row(tmp_path: Path) -> None:
    assert said(tmp_path, {"prompt": "a\ud83d"}).startswith("'prompt' holds half of a surrogate pair ('\\ud83d'")
    told = said(tmp_path, {"prompt": "q", "metadata": '{"x": "\\ud83d"}'}, "rows.csv")
    assert "holds half of a surrogate pair" in told


def test_an_eval_set_is_told_by_its_own_flags(tmp_path: Path) -> None:
    path = written(tmp_path, {"question": "1+1", "label": "2"})
    with pytest.raises(InputError) as caught:
        load_sets(EvalConfig(eval_prompt_data=(f"held={path}",)), DataConfig())
    assert str(caught.value) == (
        f"--eval-prompt-data held {path!r}, line 1: the field 'prompt' (--eval-input-key) is not there; "
        "there are question, label; did you mean --eval-input-key question?"
    )
