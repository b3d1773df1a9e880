import pytest

from assay.core.errors import GenerationError
from assay.core.types import (
    DEFAULT_SAMPLING,
    ChatPrompt,
    FailureKind,
    Message,
    Prompt,
    Request,
    RulePrompt,
    SamplingParams,
    TokenPrompt,
)
from assay.engines.openai.body import Call, estimate_tokens, make_call
from assay.engines.openai.config import OpenAIConfig

CONFIG = OpenAIConfig(base_url="http://host/v1")
STRICT = OpenAIConfig(base_url="http://host/v1", dialect="openai")
CHAT = ChatPrompt(messages=(Message(role="user", content="Is 2 + 2 = 4?"),))


def call(
    prompt: Prompt = CHAT,
    config: OpenAIConfig = CONFIG,
    *,
    n: int = 1,
    choices: tuple[str, ...] | None = None,
    **said: object,
) -> Call:
    sampling = SamplingParams(**said).over(DEFAULT_SAMPLING)  # pyright: ignore[reportArgumentType]
    return make_call(Request(id="r", prompt=prompt, sampling=sampling, n=n, choices=choices), sampling, "judge", config)


def test_a_chat_request_says_what_is_said_and_nothing_else() -> None:
    made = call(n=4, seed=7, stop=("\n",), top_k=5, logprobs=2, chat_template_kwargs={"enable_thinking": False})
    assert made.path == "/chat/completions"
    assert made.body == {
        "model": "judge",
        "messages": [{"role": "user", "content": "Is 2 + 2 = 4?"}],
        "n": 4,
        "temperature": 0.1,
        "top_p": 1.0,
        "top_k": 5,
        "max_tokens": 4096,
        "seed": 7,
        "stop": ["\n"],
        "logprobs": True,
        "top_logprobs": 2,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert call().body.keys() == {"model", "messages", "n", "temperature", "top_p", "max_tokens"}


def test_token_ids_go_to_the_completions_route() -> None:
    made = call(TokenPrompt(token_ids=(1, 2, 3)), logprobs=0)
    assert made.path == "/completions"
    assert made.body["prompt"] == [1, 2, 3]
    assert made.body["logprobs"] == 0


def test_choices_are_one_token_with_alternatives() -> None:
    made = call(choices=("1", "0"), n=3)
    assert {key: made.body[key] for key in ("n", "max_tokens", "logprobs", "top_logprobs")} == {
        "n": 1,
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
    }
    assert call(config=STRICT, choices=("1", "0")).body["max_completion_tokens"] == 1


def test_the_server_gets_no_seed_where_it_has_none_and_the_extra_keys_where_there_are_some() -> None:
    config = OpenAIConfig(base_url="http://host/v1", supports_seed=False, extra_body={"return_token_ids": True})
    body = call(config=config, seed=7).body
    assert "seed" not in body
    assert body["return_token_ids"] is True


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("regex", {"regex": "1|0"}),
        ("guided_regex", {"guided_regex": "1|0"}),
        ("structured_outputs", {"structured_outputs": {"regex": "1|0"}}),
    ],
)
def test_a_regular_expression_goes_where_the_server_takes_it(field: str, sent: dict[str, object]) -> None:
    config = OpenAIConfig.model_validate({"base_url": "http://host/v1", "regex_field": field})
    assert call(config=config, regex="1|0").body == {**call().body, **sent}


def test_a_schema_goes_as_openais_response_format() -> None:
    schema = {"type": "object", "required": ["score"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    for config in (CONFIG, STRICT):
        assert call(config=config, json_schema=schema).body["response_format"] == wanted


IMAGE = ChatPrompt(messages=(Message(role="user", content=({"type": "image_url", "image_url": {"url": "data:"}},)),))


@pytest.mark.parametrize(
    ("prompt", "config", "said", "named"),
    [
        (CHAT, STRICT, {"top_k": 5}, "top_k"),
        (CHAT, STRICT, {"chat_template_kwargs": {"enable_thinking": False}}, "chat_template_kwargs"),
        (TokenPrompt(token_ids=(1,)), STRICT, {}, "token ids"),
        (IMAGE, CONFIG, {}, "image_url"),
        (RulePrompt(rule="math", arguments={}), CONFIG, {}, "math"),
        (CHAT, CONFIG, {"regex": "1|0"}, "cannot constrain a reply by regex"),
        (CHAT, OpenAIConfig(base_url="http://h/v1", supports_json_schema=False), {"json_schema": {}}, "json_schema"),
        (TokenPrompt(token_ids=(1,)), CONFIG, {"json_schema": {}}, "json_schema behind token ids"),
        (CHAT, OpenAIConfig(base_url="http://h/v1", supports_logprobs=False), {"logprobs": 1}, "supports_logprobs"),
    ],
)
def test_what_the_endpoint_does_not_take_is_refused_and_not_left_out(
    prompt: Prompt, config: OpenAIConfig, said: dict[str, object], named: str
) -> None:
    with pytest.raises(GenerationError, match=named) as caught:
        call(prompt, config, **said)
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_images_pass_through_to_a_model_that_sees() -> None:
    config = OpenAIConfig(base_url="http://host/v1", supports_images=True)
    assert call(IMAGE, config).body["messages"][0]["content"] == [{"type": "image_url", "image_url": {"url": "data:"}}]


def test_tokens_are_guessed_from_above() -> None:
    sampling = SamplingParams(max_new_tokens=100)
    request = Request(id="r", prompt=CHAT, n=3)
    assert estimate_tokens(make_call(request, sampling, "m", CONFIG), request, sampling) == 13 // 4 + 1 + 300
    tokens = Request(id="r", prompt=TokenPrompt(token_ids=(1,) * 50), choices=("1", "0"))
    assert estimate_tokens(make_call(tokens, sampling, "m", CONFIG), tokens, sampling) == 51
