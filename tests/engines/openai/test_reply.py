import json
from math import exp, log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, Completion, FailureKind, Message, Request, SamplingParams
from assay.engines.openai.alternatives import Place, read_choice_logprobs, read_places
from assay.engines.openai.reply import read_chosen, read_completions

PROMPT = ChatPrompt(messages=(Message(role="user", content="?"),))


def reply(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"choices": list(choices), "model": "judge"} | more


def choice(content: Any = "1", finish: Any = "stop", index: int = 0, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content} | more.pop("message", {})
    return {"index": index, "message": message, "finish_reason": finish} | more


def read(data: Any, n: int = 1, logprobs: int | None = None) -> tuple[Completion, ...]:
    request = Request(id="r", prompt=PROMPT, n=n, sampling=SamplingParams(logprobs=logprobs))
    return read_completions(data, request, chat=True)


def test_samples_come_in_index_order_with_their_share_of_the_usage() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}
    first, second = read(reply(choice("b", "length", 1), choice("a"), usage=usage, system_fingerprint="fp"), n=2)
    assert (first.text, first.finish_reason, first.completion_tokens) == ("a", "stop", 3)
    assert (second.text, second.finish_reason, second.completion_tokens) == ("b", "length", 2)
    assert (first.prompt_tokens, first.cached_tokens, first.model, first.weight_version) == (10, 8, "judge", "fp")


def test_thinking_that_is_handed_out_apart_is_put_in_front() -> None:
    thought = {"reasoning_content": "hm"}
    assert read(reply(choice("1", message=thought)))[0].text == "<think>hm</think>1"
    assert read(reply(choice(None, message={"reasoning": "hm"})))[0].text == "<think>hm</think>"
    assert read(reply(choice(None, "length", message=thought)))[0].text == "<think>hm"


def test_log_probs_go_with_token_ids() -> None:
    places = {"content": [{"token": "1", "logprob": -0.5, "top_logprobs": [{"token": "1", "logprob": -0.5}]}]}
    with_ids = read(reply(choice(logprobs=places, token_ids=[49])), logprobs=1)[0]
    assert (with_ids.token_ids, with_ids.logprobs, with_ids.completion_tokens) == ((49,), (-0.5,), 1)
    without = read(reply(choice(logprobs=places)), logprobs=1)[0]
    assert (without.token_ids, without.logprobs) == ((), None)
    assert without.top_logprobs is not None
    assert [(t.text, t.token_id, t.logprob) for t in without.top_logprobs[0]] == [("1", -1, -0.5)]
    ids_as_text = {"content": [{"token": "token_id:49", "logprob": float("-inf")}]}
    coded = read(reply(choice(logprobs=ids_as_text)), logprobs=0)[0]
    assert (coded.token_ids, coded.logprobs) == ((49,), (-9999.0,))


def test_the_older_form_of_log_probs() -> None:
    places = read_places({"tokens": ["a", "b"], "token_logprobs": [-1.0, -2.0], "top_logprobs": [{"a": -1.0}, None]})
    assert [place.sampled.logprob for place in places] == [-1.0, -2.0]
    assert [len(place.alternatives) for place in places] == [1, 0]


@pytest.mark.parametrize(
    ("data", "kind", "named"),
    [
        ([], "engine_error", "not an object"),
        ({}, "engine_error", "'choices' is None"),
        ({"error": {"message": "upstream died"}}, "engine_error", "upstream died"),
        ({"choices": "x"}, "engine_error", "'choices' is 'x'"),
        (reply(), "engine_error", "0 choices, 1 were asked for"),
        (reply(choice(), choice()), "engine_error", "2 choices, 1 were asked for"),
        (reply({"index": 0}), "engine_error", "without a message"),
        (reply(choice(None)), "engine_error", "content is None"),
        (reply(choice(["1"])), "engine_error", "content is"),
        (reply(choice("1", None)), "engine_error", "finish_reason is None"),
        (reply(choice(None, "tool_calls")), "engine_error", "content is None"),
        (reply(choice("1", "tool_calls")), "engine_error", "finish_reason is 'tool_calls'"),
        (reply(choice(None, "content_filter")), "refused", "filter"),
        (reply(choice("half a", "content_filter")), "refused", "filter"),
        (reply(choice(None, message={"refusal": "I cannot"})), "refused", "I cannot"),
    ],
)
def test_what_is_malformed_is_named(data: Any, kind: str, named: str) -> None:
    with pytest.raises(GenerationError, match=named) as caught:
        read(data)
    assert caught.value.kind == kind


def test_missing_samples_name_both_numbers_and_the_way_out() -> None:
    with pytest.raises(GenerationError, match=r"1 choices, 4 were asked for.*supports_n = false"):
        read(reply(choice()), n=4)


def test_log_probs_that_were_asked_for_and_are_not_there() -> None:
    with pytest.raises(GenerationError, match="supports_logprobs = false"):
        read(reply(choice()), logprobs=1)
    with pytest.raises(GenerationError, match="logprobs that cannot be read"):
        read(reply(choice(logprobs={"content": [{"token": 7}]})), logprobs=1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "finish_reason", "usage", "index", "logprobs", "token_ids"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(JSON, st.sampled_from([None, 1]))
def test_any_json_is_completions_or_a_typed_failure(data: Any, logprobs: int | None) -> None:
    for answer in (
        data,
        {"choices": [data]},
        reply(choice(data)),
        reply(choice(logprobs=data)),
        reply(choice(), usage=data),
    ):
        kind: FailureKind | None = None
        try:
            assert len(read(json.loads(json.dumps(answer)), logprobs=logprobs)) == 1
        except GenerationError as error:
            kind = error.kind
        assert kind in (None, FailureKind.ENGINE_ERROR, FailureKind.REFUSED)


def alternatives(**probabilities: float) -> Place:
    content = [{"token": text, "logprob": log(p)} for text, p in probabilities.items()]
    return read_places({"content": [content[0] | {"top_logprobs": content}]})[0]


def test_choices_are_read_off_the_first_token() -> None:
    logprobs, mass = read_choice_logprobs(alternatives(yes=0.6, no=0.3, maybe=0.1), ("no", "yes"))
    assert [exp(value) for value in logprobs] == pytest.approx([0.3, 0.6])
    assert mass == pytest.approx(0.9)


def test_a_choice_that_is_not_listed_gets_the_bound_and_no_mass() -> None:
    logprobs, mass = read_choice_logprobs(alternatives(yes=0.98, Yes=0.01, y=0.005), ("yes", "no"))
    assert [exp(value) for value in logprobs] == pytest.approx([0.98, 0.005])
    assert mass == pytest.approx(0.98)


def test_a_choice_of_two_tokens_is_refused() -> None:
    with pytest.raises(GenerationError, match=r"'10' is not one token .* begins it with '1'") as caught:
        read_choice_logprobs(alternatives(**{"9": 0.5, "1": 0.4}), ("9", "10"))
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_a_model_that_wants_to_say_something_else_is_low_mass() -> None:
    with pytest.raises(GenerationError, match="'The'") as caught:
        read_choice_logprobs(alternatives(The=0.9, It=0.05), ("1", "0"))
    assert caught.value.kind is FailureKind.LOW_MASS
    with pytest.raises(GenerationError, match="no log-probs"):
        read_choice_logprobs(None, ("1", "0"))


def test_one_text_under_two_ids_counts_twice() -> None:
    twice = {"token": "1", "logprob": log(0.25)}
    place = read_places({"content": [twice | {"top_logprobs": [twice, twice, {"token": "0", "logprob": log(0.1)}]}]})[0]
    logprobs, mass = read_choice_logprobs(place, ("1", "0"))
    assert exp(logprobs[0]) == pytest.approx(0.5)
    assert mass == pytest.approx(0.6)


def test_the_completion_of_choices_is_the_likeliest() -> None:
    entry = {"token": "0", "logprob": log(0.7), "top_logprobs": [
        {"token": "0", "logprob": log(0.7)}, {"token": "1", "logprob": log(0.2)}
    ]}  # fmt: skip
    data = reply(
        choice("0", "length", logprobs={"content": [entry]}), usage={"prompt_tokens": 5, "completion_tokens": 1}
    )
    completion = read_chosen(data, Request(id="r", prompt=PROMPT, choices=("1", "0")), ("1", "0"))
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("0", 5, 1)
    assert completion.mass == pytest.approx(0.9)
