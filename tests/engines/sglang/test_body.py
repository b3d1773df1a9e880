from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import GenerationError
from assay.core.types import (
    ChatPrompt,
    FailureKind,
    Message,
    Request,
    RulePrompt,
    SamplingParams,
)
from assay.engines.sglang.body import Call, Facts, make_calls, settled
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.model import ModelFiles

from .conftest import chat, tokens

FILES = ModelFiles(path=Path(), config={}, vocab_size=300, max_positions=None, weight_bytes=0, poison=("[PAD]",))
FACTS = Facts(files=FILES, context_len=512, images=False)


def calls(request: Request, facts: Facts = FACTS, **options: Any) -> list[Call]:
    config = SGLangConfig.model_validate({"model": "m", **options})
    return make_calls(request, settled(request, config), config, facts)


def body(request: Request, facts: Facts = FACTS, **options: Any) -> dict[str, Any]:
    (call,) = calls(request, facts, **options)
    return dict(call.body)


def test_a_chat_says_every_sampling_value() -> None:
    kwargs = {"enable_thinking": False}
    assert body(chat("hi", temperature=0.5, stop=("a",), seed=3, chat_template_kwargs=kwargs)) == {
        "messages": [{"role": "user", "content": "hi"}],
        "max_completion_tokens": 8,
        "temperature": 0.5,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "stop": ["a"],
        "chat_template_kwargs": kwargs,
        "n": 1,
    }


def test_token_prompts_take_the_native_route_and_are_cut_to_the_context() -> None:
    (call,) = calls(tokens(*[7] * 509, max_new_tokens=100, logprobs=2))
    assert (call.path, call.chat) == ("/generate", False)
    params = call.body["sampling_params"]
    assert params["max_new_tokens"] == 512 - 509
    assert (call.body["return_logprob"], call.body["top_logprobs_num"]) == (True, 2)
    with pytest.raises(GenerationError, match="the prompt has 512 tokens and the context holds 512") as caught:
        calls(tokens(*[1] * 512))
    assert caught.value.kind is FailureKind.CONTEXT_OVERFLOW


def test_only_parameters_that_sglang_knows_are_sent() -> None:
    known = {"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens", "n", "stop"}
    sent = body(tokens(1, stop=("x",), seed=1, top_k=0, chat_template_kwargs={"a": 1}))["sampling_params"]
    assert sent.keys() == known
    assert sent["top_k"] == -1


def test_log_probs_come_with_ids() -> None:
    asked = body(chat(logprobs=3))
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 3)
    assert (asked["return_token_ids"], asked["return_meta_info"]) == (True, True)
    assert "logprobs" not in body(chat())


def test_seeds_are_sent_where_they_have_an_effect_and_each_sample_gets_its_own() -> None:
    three = replace(chat(seed=2**31 - 2), n=3)
    (plain,) = calls(three)
    assert (plain.n, plain.seed, plain.body["n"], "seed" in plain.body) == (3, None, 3, False)
    each = calls(three, deterministic=True)
    assert [(call.n, call.seed, call.body["seed"]) for call in each] == [
        (1, 2**31 - 2, 2**31 - 2),
        (1, 2**31 - 1, 2**31 - 1),
        (1, 0, 0),
    ]
    (native,) = calls(tokens(1, seed=5), deterministic=True)
    assert native.body["sampling_params"]["sampling_seed"] == 5


def test_grammars_go_to_both_routes() -> None:
    schema = {"type": "object"}
    assert body(chat(), regex="1|0")["regex"] == "1|0"
    assert body(tokens(1), regex="1|0")["sampling_params"]["regex"] == "1|0"
    assert body(tokens(1), json_schema=schema)["sampling_params"]["json_schema"] == '{"type": "object"}'
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    assert body(chat(), json_schema=schema)["response_format"] == wanted


def test_a_requests_own_grammar_wins_over_that_of_the_configuration() -> None:
    schema = {"type": "object"}
    assert body(chat(regex="7"), regex="1|0")["regex"] == "7"
    assert body(tokens(1, regex="7"))["sampling_params"]["regex"] == "7"
    asked = body(chat(json_schema=schema), regex="1|0")
    assert (asked["response_format"]["json_schema"]["schema"], "regex" in asked) == (schema, False)
    with pytest.raises(GenerationError, match="send one") as caught:
        body(chat(json_schema=schema, regex="7"))
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_a_grammar_and_thinking_are_refused_together() -> None:
    with pytest.raises(GenerationError, match=r"does not apply regex while the model thinks.*enable_thinking=false"):
        body(chat(), regex="1", reasoning_parser="qwen3")
    with pytest.raises(GenerationError, match="does not apply json_schema while the model thinks"):
        body(chat(json_schema={}), reasoning_parser="qwen3")
    for off in ({"enable_thinking": False}, {"thinking": False}):
        assert body(chat(chat_template_kwargs=off), regex="1", reasoning_parser="qwen3")["regex"] == "1"
    assert "regex" in body(tokens(1), regex="1", reasoning_parser="qwen3")["sampling_params"]


IMAGE = Request(
    id="i",
    prompt=ChatPrompt(
        messages=(Message(role="user", content=({"type": "image_url", "image_url": {"url": "data:"}},)),)
    ),
    sampling=SamplingParams(max_new_tokens=4),
)


def test_images_go_to_models_that_see() -> None:
    with pytest.raises(GenerationError, match="takes no content part of type 'image_url'"):
        body(IMAGE)
    seeing = Facts(files=FILES, context_len=512, images=True)
    assert body(IMAGE, seeing)["messages"][0]["content"][0]["type"] == "image_url"


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (tokens(300), "token id 300 is outside the vocabulary of 300"),
        (tokens(), "empty"),
        (chat("an answer with [PAD] in it"), r"'\[PAD\]'"),
        (chat(max_new_tokens=0), "max_new_tokens must be 1 or more"),
        (chat(logprobs=101), "logprobs must be 0..100"),
        (Request(id="r", prompt=RulePrompt(rule="math", arguments={})), "answers no rules"),
    ],
)
def test_what_would_end_the_server_or_fail_there_is_refused_here(request_: Request, named: str) -> None:
    with pytest.raises(GenerationError, match=named) as caught:
        body(request_)
    assert caught.value.kind is FailureKind.BAD_REQUEST
