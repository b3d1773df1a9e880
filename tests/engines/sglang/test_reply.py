import json
from dataclasses import replace
from typing import Any

import pytest

from assay.core.errors import GenerationError
from assay.core.types import Completion, FailureKind, SamplingParams
from assay.engines.sglang.body import Call
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.reply import check_constrained, read_reply
from assay.engines.sglang.streaming import NativeReader

from .conftest import chat, tokens

CHAT = Call(path="/v1/chat/completions", body={}, n=1)
NATIVE = Call(path="/generate", body={}, n=1)


def said(content: str, *, thought: str | None = None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "reasoning_content": thought, "tool_calls": None}
    return {
        "id": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None} | more],
        "usage": {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}},
        "metadata": {"weight_version": "v7"},
    }


def sample(text: str = "ab", finish: str = "stop", **meta: Any) -> dict[str, Any]:
    told = {"finish_reason": {"type": finish}, "prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 8}
    return {"text": text, "output_ids": [98, 99], "meta_info": told | {"weight_version": "v7"} | meta}


def test_a_chat_completion_is_read_with_its_weights_and_cache_hits() -> None:
    (found,) = read_reply(said("yes"), replace(CHAT, seed=4), chat())
    assert (found.text, found.finish_reason, found.seed, found.weight_version) == ("yes", "stop", 4, "v7")
    assert (found.prompt_tokens, found.cached_tokens, found.completion_tokens) == (20, 16, 3)


@pytest.mark.parametrize(
    ("reply", "text", "finish"),
    [
        (said("1", thought="hm"), "<think>hm</think>1", "stop"),
        (said("", thought="hm", finish="length"), "<think>hm", "length"),
        (said("1"), "1", "stop"),
    ],
)
def test_thinking_comes_back_in_the_text_and_stays_open_when_cut(reply: Any, text: str, finish: str) -> None:
    (found,) = read_reply(reply, CHAT, chat())
    assert (found.text, found.finish_reason) == (text, finish)


def test_log_probs_of_a_chat_have_ids() -> None:
    meta = {
        "output_token_logprobs": [[-0.5, 11, "a"], [None, 12, "b"]],
        "output_top_logprobs": [[[-0.5, 11, "a"], [-1.5, 13, "c"]], [[-0.1, 14, "d"], [None, 12, "b"]]],
    }
    (found,) = read_reply(
        said("ab", meta_info=meta, token_ids=[11, 12], logprobs={"content": []}), CHAT, chat(logprobs=2)
    )
    assert found.token_ids == (11, 12)
    assert found.logprobs == (-0.5, -9999.0)
    assert found.top_logprobs is not None
    assert [[(one.token_id, one.logprob) for one in place] for place in found.top_logprobs] == [
        [(11, -0.5), (13, -1.5)],
        [(14, -0.1), (12, -9999.0)],
    ]


def test_native_samples_are_read_in_order() -> None:
    both = [sample("ab"), sample("cd", finish="length")]
    found = read_reply(both, replace(NATIVE, n=2), tokens(1))
    assert [(one.text, one.index, one.finish_reason, one.token_ids) for one in found] == [
        ("ab", 0, "stop", (98, 99)),
        ("cd", 1, "length", (98, 99)),
    ]
    assert (found[0].prompt_tokens, found[0].cached_tokens, found[0].weight_version) == (9, 8, "v7")


@pytest.mark.parametrize(
    ("reply", "call", "named"),
    [
        (said("half", finish="abort"), CHAT, "SGLang aborted the request"),
        (sample(finish="abort"), NATIVE, "SGLang aborted the request"),
        ([sample()], replace(NATIVE, n=2), "2 samples were asked for"),
        ({"text": "a"}, NATIVE, "1 samples were asked for"),
        ({"text": None, "output_ids": [], "meta_info": {}}, NATIVE, "without text, ids or finish reason"),
        (said("a") | {"choices": []}, CHAT, "0 choices"),
        ("nonsense", CHAT, "not an object"),
    ],
)
def test_what_is_no_whole_answer_is_an_engine_error(reply: Any, call: Call, named: str) -> None:
    with pytest.raises(GenerationError, match=named) as caught:
        read_reply(reply, call, chat() if call.chat else tokens(1))
    assert caught.value.kind is FailureKind.ENGINE_ERROR


def test_log_probs_that_were_asked_for_must_be_there() -> None:
    with pytest.raises(GenerationError, match="log-probs were asked for and the reply has none"):
        read_reply(sample(), NATIVE, tokens(1, logprobs=0))
    with pytest.raises(GenerationError, match=r"a token's log-prob is \[1\]"):
        read_reply(sample(output_token_logprobs=[[1]]), NATIVE, tokens(1, logprobs=0))


def test_a_grammar_that_was_not_followed_is_an_error_and_not_a_verdict() -> None:
    one = Completion(request_id="r", text="<think>so</think>10")
    config = SGLangConfig(model="m", regex="10|[1-9]")
    digits = SamplingParams(regex="10|[1-9]")
    check_constrained(one, digits, config)
    with pytest.raises(GenerationError, match=r"does not follow the grammar.*'ten'"):
        check_constrained(replace(one, text="ten"), digits, config)
    check_constrained(replace(one, text="te", finish_reason="length"), digits, config)
    schema = SamplingParams(json_schema={"type": "object"})
    check_constrained(replace(one, text='{"score": 4}'), schema, config)
    with pytest.raises(GenerationError, match="does not follow"):
        check_constrained(replace(one, text="four"), schema, config)


def test_an_expression_out_of_a_request_is_not_run_here() -> None:
    """It backtracks for longer than the universe is old."""
    endless = Completion(request_id="r", text="a" * 200 + "!")
    check_constrained(endless, SamplingParams(regex="(a+)+"), SGLangConfig(model="m", regex="1|0"))


def event(text: str, ids: list[int], finish: str | None = None, **more: Any) -> str:
    meta = {"finish_reason": None if finish is None else {"type": finish}}
    return json.dumps({"text": text, "output_ids": ids, "meta_info": meta | more.pop("meta", {}), **more})


def test_events_that_grow_become_deltas() -> None:
    reader = NativeReader(1)
    logprobs = [[-0.1, 1, "a"], [-0.2, 2, "b"], [-0.3, 3, "c"]]
    events = [
        event("a", [1], meta={"output_token_logprobs": logprobs[:1]}),
        event("abc", [1, 2, 3], "stop", meta={"output_token_logprobs": logprobs}),
        "[DONE]",
    ]
    deltas = [delta for one in events for delta in reader.read(one)]
    reader.end()
    assert [(d.text, d.token_ids, d.logprobs, d.finish_reason) for d in deltas] == [
        ("a", (1,), (-0.1,), None),
        ("bc", (2, 3), (-0.2, -0.3), "stop"),
    ]


def test_samples_of_one_stream_keep_apart_and_must_all_end() -> None:
    reader = NativeReader(2)
    deltas = [delta for one in (event("a", [1], index=1), event("b", [2], "length")) for delta in reader.read(one)]
    assert [(d.index, d.text, d.finish_reason) for d in deltas] == [(1, "a", None), (0, "b", "length")]
    with pytest.raises(GenerationError, match=r"before samples \[1\] of 2 were finished"):
        reader.end()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not JSON"),
        ('{"error": {"message": "too long"}}', "broke off the stream.*too long"),
        ('{"text": "a"}', "without text, ids or meta"),
        (event("a", [1], index=3), "sample 3"),
    ],
)
def test_events_that_are_none_are_errors(text: str, named: str) -> None:
    with pytest.raises(GenerationError, match=named):
        list(NativeReader(1).read(text))
