from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from assay.core.types import Message
from assay.wire.messages import MessageBody, Messages, from_message, to_messages

IMAGE = [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
]
MESSAGES: TypeAdapter[list[MessageBody]] = TypeAdapter(Messages)


def test_text_and_parts_come_through_as_they_are() -> None:
    bodies = MESSAGES.validate_python([{"role": "system", "content": "s"}, {"role": "user", "content": IMAGE}])
    messages = to_messages(bodies)
    assert messages == (Message(role="system", content="s"), Message(role="user", content=tuple(IMAGE)))
    assert messages[1].text == "What is it?"
    assert [from_message(m) for m in messages] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": IMAGE},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"text": "x"}], "content part 0 has no 'type'"),
        ([{"type": "text", "text": "x"}, {"type": "text"}], "content part 1 is of type 'text' and has no 'text'"),
        ([], "at least 1 item"),
        (None, "valid string"),
    ],
)
def test_a_part_that_says_nothing_is_refused(content: object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MESSAGES.validate_python([{"role": "user", "content": content}])


def test_no_messages_are_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        MESSAGES.validate_python([])
