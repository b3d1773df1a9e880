from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.wire.body import dump, parse
from assay.wire.chat import ChatBody
from assay.wire.generate import GenerateBody
from assay.wire.score import ScoreBody
from assay.wire.status import OffloadBody

USER = [{"role": "user", "content": "hi"}]


def refused(body: object, model: type = GenerateBody) -> str:
    with pytest.raises(InputError) as caught:
        parse(model, json.dumps(body).encode())
    return str(caught.value)


def test_a_good_body_comes_through() -> None:
    body = parse(GenerateBody, b'{"messages":[{"role":"user","content":"hi"}],"route_key":"safety"}')
    assert body.messages[0].content == "hi"
    assert body.route_key == "safety"
    assert body.sampling_params is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the body is empty"),
        (b"{messages", "the body is not JSON: key must be a string at line 1 column 2"),
        (b'{"messages":[{"role":"user","content":"\xff"}]}', "the body is not JSON"),
        (b'{"messages":[{"role":"user","content":"\\ud800"}]}', "the body is not JSON"),
    ],
)
def test_what_is_not_json_is_said_to_be_none(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(GenerateBody, data)


def test_each_fault_is_told_with_its_place_and_value() -> None:
    assert refused({}) == "messages: Field required"
    assert refused({"messages": USER, "route": "x"}) == "route: unknown key (got 'x')"
    assert refused({"messages": [{"role": "judge", "content": "x"}]}).startswith("messages.0.role: ")
    assert refused({"messages": USER, "sampling_params": {"temperatur": 1}}) == (
        "sampling_params.temperatur: unknown key (got 1)"
    )


def test_values_are_not_guessed_at() -> None:
    assert "sampling_params.temperature" in refused({"messages": USER, "sampling_params": {"temperature": "0.5"}})
    assert "valid string" in refused({"messages": USER, "route_key": 3})
    assert refused([]).startswith("body: ")


def test_a_hopeless_body_is_told_in_one_short_line() -> None:
    message = refused({"messages": USER, **{f"key{n}": "x" * 500 for n in range(50)}})
    assert message.endswith("and 45 more")
    assert len(message) < 1000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KEYS = ["messages", "sampling_params", "judge", "item", "model", "n", "stop", "tools", "tags", "k", "route_key"]


@given(st.dictionaries(st.sampled_from(KEYS), json_values) | json_values)
def test_any_json_is_a_body_or_an_input_error(value: object) -> None:
    for model in (GenerateBody, ScoreBody, ChatBody, OffloadBody):
        with contextlib.suppress(InputError):
            parse(model, json.dumps(value).encode())


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused_wherever_they_hide(number: str) -> None:
    item = f'{{"prompt": "q", "candidates": ["a"], "metadata": {{"x": [1, {{"y": {number}}}]}}}}'
    with pytest.raises(InputError, match=r"item\.metadata: .* is not a JSON number"):
        parse(ScoreBody, f'{{"judge": "v", "item": {item}}}'.encode())


def test_dump_is_compact_and_keeps_text_readable() -> None:
    assert dump({"response": "答案"}) == '{"response":"答案"}'.encode()


def test_dump_escapes_what_is_not_unicode_and_refuses_what_is_not_json() -> None:
    assert json.loads(dump({"response": "a\ud800b"})) == {"response": "a\ud800b"}
    with pytest.raises(ValueError, match="JSON"):
        dump({"score": math.nan})
