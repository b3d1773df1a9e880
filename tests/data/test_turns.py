from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import Message
from assay.data.turns import read_turns


def test_turns_are_read_in_order() -> None:
    told = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert read_turns(told, "row 3") == (Message(role="user", content="a"), Message(role="assistant", content="b"))


@pytest.mark.parametrize("wrong", [[], "", 3, [{"role": "user"}], ["a"], [{"role": "user", "content": None}]])
def test_what_is_no_turn_is_refused_with_its_row(wrong: Any) -> None:
    with pytest.raises(InputError, match="row 3: "):
        read_turns(wrong, "row 3")


def test_text_parts_are_one_text() -> None:
    parts = [{"type": "text", "text": "1+"}, {"type": "text", "text": "1="}]
    assert read_turns([{"role": "user", "content": parts}], "row 3") == (Message(role="user", content="1+1="),)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "image_url", "image_url": {"url": "x"}}, "row 3: a turn holds a part of type 'image_url'"),
        ({"type": "text"}, "row 3: a part of a turn needs a type and a text"),
        ("text", "row 3: a part of a turn needs a type and a text"),
    ],
)
def test_other_parts_are_refused(part: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_turns([{"role": "user", "content": [{"type": "text", "text": "look"}, part]}], "row 3")
