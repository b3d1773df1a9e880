from __future__ import annotations

import json
import math

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from assay.core.errors import InputError
from assay.core.types import Completion, SamplingParams, TokenLogprob
from assay.wire.body import parse
from assay.wire.chat import UNSUPPORTED, ChatBody, chat_sampling
from assay.wire.chat_reply import LOGPROB_FLOOR, ChatReply, chat_chunk, chat_reply

BASE = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def body(**more: object) -> ChatBody:
    return parse(ChatBody, json.dumps(BASE | more).encode())


def refused(**more: object) -> str:
    with pytest.raises(InputError) as caught:
        body(**more)
    return str(caught.value)


def test_sampling_is_read_in_openais_words() -> None:
    asked = body(
        temperature=0, top_p=0.9, top_k=5, max_completion_tokens=8, stop="x", seed=3, logprobs=True, top_logprobs=2
    )
    assert chat_sampling(asked) == SamplingParams(
        temperature=0.0, top_p=0.9, top_k=5, max_new_tokens=8, stop=("x",), seed=3, logprobs=2
    )
    assert chat_sampling(body()) == SamplingParams()
    assert chat_sampling(body(logprobs=True)).logprobs == 1


@pytest.mark.parametrize("key", sorted(UNSUPPORTED))
def test_what_is_not_honoured_is_refused_unless_it_asks_for_nothing(key: str) -> None:
    assert body(**{key: None}).model == "m"
    for nothing in UNSUPPORTED[key]:
        assert body(**{key: nothing}).model == "m"
    assert f"{key!r} is not supported here (got 'yes')" in refused(**{key: "yes"})


def test_response_formats_are_read_in_openais_words() -> None:
    schema = {"type": "object", "required": ["score"]}
    named = {"name": "verdict", "schema": schema, "strict": True}
    assert chat_sampling(body(response_format={"type": "text"})) == SamplingParams()
    assert chat_sampling(body(response_format={"type": "json_object"})).json_schema == {"type": "object"}
    assert chat_sampling(body(response_format={"type": "json_schema", "json_schema": named})).json_schema == schema
    assert chat_sampling(body(regex="1|0")).regex == "1|0"
    assert "response_format" in refused(response_format={"type": "grammar"})
    assert "response_format" in refused(response_format={"type": "json_schema"})
    assert "say one" in refused(regex="1|0", response_format={"type": "json_object"})


def test_penalties_of_zero_ask_for_nothing() -> None:
    assert body(frequency_penalty=0.0, presence_penalty=0).n == 1
    assert "frequency_penalty" in refused(frequency_penalty=0.5)


def test_contradictions_and_unknown_keys_are_refused() -> None:
    assert refused(best_of=2) == "best_of: unknown key (got 2)"
    assert "disagree" in refused(max_tokens=1, max_completion_tokens=2)
    assert "needs logprobs" in refused(top_logprobs=2)
    assert refused(n=0).startswith("n: ")


def test_the_reply_is_what_the_official_client_reads() -> None:
    seen = TokenLogprob(token_id=5, text="1", logprob=-0.1), TokenLogprob(token_id=6, text="0", logprob=-math.inf)
    completions = [
        Completion(
            request_id="r",
            index=n,
            text="1",
            finish_reason="length",
            token_ids=(5,),
            logprobs=(-0.1,),
            top_logprobs=(seen,),
            prompt_tokens=7,
            cached_tokens=3,
            completion_tokens=1,
            weight_version="w1",
        )
        for n in range(2)
    ]
    told = chat_reply("chatcmpl-r", 12, "m", completions, top_logprobs=2)
    reply = ChatCompletion.model_validate(told)
    assert [choice.index for choice in reply.choices] == [0, 1]
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (7, 2, 9)
    logprobs = reply.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert [(top.token, top.logprob) for top in logprobs.content[0].top_logprobs] == [("1", -0.1), ("0", LOGPROB_FLOOR)]
    assert logprobs.content[0].bytes == [49]
    assert ChatReply.model_validate(told).system_fingerprint == "w1"


def test_a_tokens_text_is_told_also_without_alternatives() -> None:
    seen = (TokenLogprob(token_id=5, text="1", logprob=-0.1),)
    completion = Completion(request_id="r", text="1", token_ids=(5,), logprobs=(-0.1,), top_logprobs=(seen,))
    (choice,) = chat_reply("c", 1, "m", [completion])["choices"]  # type: ignore[misc]
    (token,) = choice["logprobs"]["content"]  # type: ignore[index, call-overload]
    assert token == {"token": "1", "logprob": -0.1, "bytes": [49], "top_logprobs": []}


def test_a_token_without_a_text_goes_by_its_id() -> None:
    (choice,) = chat_reply(
        "c", 1, "m", [Completion(request_id="r", text="x", token_ids=(42,), logprobs=(-1.0,), completion_tokens=1)]
    )["choices"]  # type: ignore[misc]
    (token,) = choice["logprobs"]["content"]  # type: ignore[index, call-overload]
    assert token == {"token": "token_id:42", "logprob": -1.0, "bytes": None, "top_logprobs": []}


def test_chunks_are_what_the_official_client_reads() -> None:
    opening = ChatCompletionChunk.model_validate(chat_chunk("c", 1, "m", 0, None, None))
    assert (opening.choices[0].delta.role, opening.choices[0].delta.content) == ("assistant", "")
    last = ChatCompletionChunk.model_validate(chat_chunk("c", 1, "m", 2, "end", "stop"))
    assert (last.choices[0].index, last.choices[0].delta.content, last.choices[0].finish_reason) == (2, "end", "stop")
