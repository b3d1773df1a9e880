from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import GenerationError
from assay.core.types import (
    DEFAULT_SAMPLING,
    Candidate,
    Draw,
    FailureKind,
    Item,
    Message,
    SamplingParams,
    Usage,
)


def test_sampling_merges_key_by_key_and_the_request_wins() -> None:
    instance = SamplingParams(temperature=0.7, stop=("END",))
    request = SamplingParams(temperature=0.0)
    merged = request.over(instance).over(DEFAULT_SAMPLING)
    assert (merged.temperature, merged.stop, merged.top_p, merged.max_new_tokens) == (0.0, ("END",), 1.0, 4096)


@given(st.permutations(range(5)))
def test_undo_puts_scores_back(order: list[int]) -> None:
    shown = tuple(float(index) for index in order)
    assert Draw(vote=0, seed=0, order=tuple(order)).undo(shown) == (0.0, 1.0, 2.0, 3.0, 4.0)


def test_the_question_is_the_last_user_turn() -> None:
    parts = ({"type": "text", "text": "second"}, {"type": "image_url", "image_url": {"url": "x"}})
    item = Item(
        id="i",
        messages=(
            Message(role="user", content="first"),
            Message(role="assistant", content="reply"),
            Message(role="user", content=parts),
        ),
        candidates=(Candidate(text="a"), Candidate(text="b")),
        gold=(0.0, 1.0),
    )
    assert item.question == "second"
    assert item.only(1).gold == (1.0,)
    assert item.only(1).candidates[0].text == "b"


def test_a_grammar_that_is_said_replaces_the_other_kind_too() -> None:
    schema = {"type": "object"}
    below = SamplingParams(temperature=0.5, json_schema=schema)
    assert SamplingParams(regex="1|0").over(below) == SamplingParams(temperature=0.5, regex="1|0")
    assert SamplingParams(temperature=0.0).over(below) == SamplingParams(temperature=0.0, json_schema=schema)
    assert SamplingParams(json_schema={}).over(SamplingParams(regex="1|0")) == SamplingParams(json_schema={})


def test_usage_adds_up() -> None:
    total = Usage(calls=1, prompt_tokens=5) + Usage(calls=2, completion_tokens=7)
    assert total == Usage(calls=3, prompt_tokens=5, completion_tokens=7)


def test_an_engine_error_becomes_the_failure_it_names() -> None:
    error = GenerationError(FailureKind.OVERLOADED, "queue full", retry_after=2)
    assert error.retryable
    assert error.failure().kind is FailureKind.OVERLOADED
    assert not GenerationError(FailureKind.CONTEXT_OVERFLOW, "too long").retryable
