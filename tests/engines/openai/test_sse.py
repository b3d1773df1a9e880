import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import GenerationError
from assay.engines.openai.sse import ChunkReader, EventReader


def chunk(index: int = 0, finish: str | None = None, **delta: Any) -> str:
    return json.dumps({"choices": [{"index": index, "delta": delta, "finish_reason": finish}]})


@settings(deadline=None)
@given(st.lists(st.integers(1, 7), max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_events_do_not_depend_on_where_the_bytes_are_cut(cuts: list[int], end: str) -> None:
    lines = [": hello", "", 'data: {"a": "é"}', "", "event: x", "data: one", "data: two", "", "data:[DONE]", "", ""]
    text = end.join(lines)
    raw, reader, events, start = text.encode(), EventReader(), list[str](), 0
    for size in [*cuts, len(raw)]:
        events += reader.feed(raw[start : start + size])
        start += size
    assert events == ['{"a": "é"}', "one\ntwo", "[DONE]"]


def test_deltas_of_two_samples() -> None:
    reader = ChunkReader(2)
    events = [
        chunk(0, role="assistant"),
        chunk(1, content="b"),
        chunk(0, content="a"),
        chunk(0, "stop"),
        chunk(1, "length"),
    ]
    deltas = [delta for event in [*events, "[DONE]"] for delta in reader.read(event)]
    reader.end()
    assert [(d.index, d.text, d.finish_reason) for d in deltas] == [
        (1, "b", None),
        (0, "a", None),
        (0, "", "stop"),
        (1, "", "length"),
    ]


@pytest.mark.parametrize(
    ("events", "text"),
    [
        (
            [chunk(reasoning_content="hm"), chunk(reasoning="!"), chunk(content="1"), chunk(finish="stop")],
            "<think>hm!</think>1",
        ),
        ([chunk(reasoning_content="hm"), chunk(finish="length")], "<think>hm"),
        ([chunk(reasoning_content="hm"), chunk(finish="stop")], "<think>hm</think>"),
        ([chunk(content="1"), chunk(finish="stop")], "1"),
    ],
)
def test_thinking_is_marked(events: list[str], text: str) -> None:
    reader = ChunkReader(1)
    assert "".join(delta.text for event in events for delta in reader.read(event)) == text
    reader.end()


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ("{", "not JSON"),
        ('{"error": {"message": "out of memory"}}', "out of memory"),
        ('{"choices": [7]}', "a choice of a chunk is 7"),
        (chunk(3, content="x"), "index 3, 1 were asked for"),
        (chunk(finish="tool_calls"), "tool_calls"),
    ],
)
def test_nonsense_in_a_stream_is_named(event: str, named: str) -> None:
    with pytest.raises(GenerationError, match=named):
        list(ChunkReader(1).read(event))


def test_a_stream_that_breaks_off_is_a_failure() -> None:
    reader = ChunkReader(2)
    list(reader.read(chunk(0, "stop")))
    with pytest.raises(GenerationError, match=r"before samples \[1\] of 2"):
        reader.end()
