from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AssayError, GenerationError, InputError, StartError
from assay.core.types import (
    ChatPrompt,
    Completion,
    FailureKind,
    Message,
    Request,
    RulePrompt,
    SamplingParams,
    TokenLogprob,
    TokenPrompt,
)
from assay.engines.base import Delta, EngineHealth, EngineInfo
from assay.engines.hosted.codec import (
    decode,
    dump_completion,
    dump_delta,
    dump_error,
    dump_health,
    dump_info,
    dump_request,
    encode,
    load_completion,
    load_delta,
    load_error,
    load_health,
    load_info,
    load_request,
)

TEXTS = st.text(st.characters(codec=None), max_size=20)
LOGPROBS = st.floats(max_value=0, allow_nan=False)
MAYBE = {"allow_nan": False, "allow_infinity": False}


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


PARTS = st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS})
MESSAGES = st.builds(Message, role=TEXTS, content=TEXTS | st.lists(PARTS, max_size=2).map(tuple))
PROMPTS = st.one_of(
    st.builds(ChatPrompt, messages=st.lists(MESSAGES, max_size=3).map(tuple)),
    st.builds(TokenPrompt, token_ids=st.lists(st.integers(0, 2**17), max_size=5).map(tuple)),
    st.builds(RulePrompt, rule=TEXTS, arguments=st.dictionaries(TEXTS, st.integers() | TEXTS | st.none(), max_size=3)),
)
SAMPLINGS = st.builds(
    SamplingParams,
    temperature=maybe(st.floats(0, 2)),
    top_k=maybe(st.integers(-1, 100)),
    stop=maybe(st.lists(TEXTS, max_size=2).map(tuple)),
    seed=maybe(st.integers(0, 2**31 - 1)),
    logprobs=maybe(st.integers(0, 5)),
    chat_template_kwargs=maybe(st.dictionaries(TEXTS, st.booleans(), max_size=2)),
    regex=maybe(TEXTS),
    json_schema=maybe(st.dictionaries(TEXTS, st.booleans(), max_size=2)),
)
REQUESTS = st.builds(
    Request,
    id=TEXTS,
    prompt=PROMPTS,
    sampling=SAMPLINGS,
    n=st.integers(1, 9),
    choices=maybe(st.lists(TEXTS, max_size=3).map(tuple)),
)
ALTERNATIVES = st.lists(st.builds(TokenLogprob, token_id=st.integers(0), text=TEXTS, logprob=LOGPROBS), max_size=2)
COMPLETIONS = st.builds(
    Completion,
    request_id=TEXTS,
    text=TEXTS,
    index=st.integers(0, 9),
    finish_reason=st.sampled_from(["stop", "length", "abort"]),
    token_ids=st.lists(st.integers(0), max_size=3).map(tuple),
    logprobs=maybe(st.lists(LOGPROBS, max_size=3).map(tuple)),
    top_logprobs=maybe(st.lists(ALTERNATIVES.map(tuple), max_size=2).map(tuple)),
    choice_logprobs=maybe(st.lists(LOGPROBS, max_size=3).map(tuple)),
    mass=maybe(st.floats(0, 1)),
    prompt_tokens=st.integers(0),
    cached_tokens=st.integers(0),
    completion_tokens=st.integers(0),
    seed=maybe(st.integers(0)),
    model=TEXTS,
    weight_version=TEXTS,
)


def travelled(value: object) -> Any:
    line = encode(value)
    assert b"\n" not in line
    return decode(line)


@given(REQUESTS)
def test_a_request_arrives_as_it_left(request: Request) -> None:
    assert load_request(travelled(dump_request(request))) == request


@given(COMPLETIONS)
def test_a_completion_arrives_as_it_left(completion: Completion) -> None:
    assert load_completion(travelled(dump_completion(completion))) == completion


def test_a_delta_arrives_as_it_left() -> None:
    delta = Delta(index=1, text="é\ud800", token_ids=(3, 4), logprobs=(-0.5, -math.inf), finish_reason="length")
    assert load_delta(travelled(dump_delta(delta))) == delta


def test_what_an_engine_says_of_itself_arrives() -> None:
    info = EngineInfo(model="m", weight_version="v", capabilities=frozenset({"chat", "choices"}), num_gpus=2)
    assert load_info(travelled(dump_info(info))) == info
    health = EngineHealth(healthy=False, state="failed", error="why", detail={"running": 3})
    assert load_health(travelled(dump_health(health))) == health


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_keeps_its_kind(kind: FailureKind) -> None:
    error = load_error(travelled(dump_error(GenerationError(kind, "why", retry_after=1.5))))
    assert isinstance(error, GenerationError)
    assert (error.kind, error.detail, error.retry_after) == (kind, "why", 1.5)


@pytest.mark.parametrize("type_", [InputError, StartError, AssayError])
def test_every_error_keeps_its_type(type_: type[AssayError]) -> None:
    error = load_error(travelled(dump_error(type_("why"))))
    assert type(error) is type_
    assert str(error) == "why"
