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
