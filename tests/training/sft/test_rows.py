from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import Message
from assay.data import open_parts
from assay.training.sft.rows import SftRow, part_rows, read_row

USER = {"role": "user", "content": "q"}
REPLY = {"role": "assistant", "content": "a"}
TURN = Message(role="user", content="q")


def read(file: Path) -> list[SftRow]:
    return [row for part in open_parts(file) for row in part_rows(part, str(file))]


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        ({"messages": [USER, REPLY]}, (TURN,)),
        ({"messages": [USER], "completion": "a"}, (TURN,)),
        ({"prompt": "q", "completion": "a", "kind": "toy"}, "q"),
        ({"prompt": [USER], "completion": [REPLY]}, (TURN,)),
        ({"prompt": "the item's", "prompt_messages": [USER], "completion": "a"}, (TURN,)),
        ({"prompt": "the item's", "messages": [USER, REPLY]}, (TURN,)),
    ],
)
def test_all_forms_are_one_row(row: dict[str, Any], prompt: Any) -> None:
    assert read_row(row | {"weight": 2}, "f, line 1") == SftRow(
        prompt=prompt, completion="a", weight=2.0, where="f, line 1"
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "q"}, "needs 'messages', or 'prompt' and 'completion'; there are text"),
        ({"prompt": "q"}, "needs a 'completion'"),
        ({"messages": [USER]}, "must be the assistant's"),
        ({"messages": [REPLY]}, "must be the assistant's"),
        ({"prompt": "q", "completion": " "}, "no token to learn from"),
        ({"prompt": "q", "completion": 3}, "one turn of the assistant"),
        ({"prompt": [{"role": "user"}], "completion": "a"}, "needs a role and a text"),
        ({"prompt": "q", "completion": "a", "weight": 0}, "positive number, not 0"),
    ],
)
def test_unfit_rows_are_refused_by_their_line(row: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"f, line 3.*{said}"):
        read_row(row, "f, line 3")


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"prompt": "q", "completion": "a"}) + "\n{\n")
    with pytest.raises(InputError, match="line 2: broken JSON"):
        read(file)


def test_a_text_that_is_no_unicode_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"prompt": "q", "completion": "a\ud83d"}) + "\n")
    with pytest.raises(InputError, match=r"rows\.jsonl', line 1: 'completion' holds half of a surrogate pair"):
        read(file)


def test_content_may_be_text_parts() -> None:
    parts = [{"type": "text", "text": "q"}]
    assert read_row({"messages": [USER | {"content": parts}, REPLY]}, "f, line 1").prompt == (TURN,)
