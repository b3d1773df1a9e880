from __future__ import annotations

import asyncio
import json
from pathlib import Path

import openai
import pytest

from assay.core.errors import GenerationError
from assay.core.types import FailureKind
from assay.scoring.journal import read_sealed
from assay.scoring.recorder import Recorder
from assay.service.server import running
from assay.service.settings import ServiceSettings

from .doubles import USER, Puppet, StreamingPuppet, call, make_app, overflow, post

CHAT = "/v1/chat/completions"


def ask(engine: Puppet, **more: object):  # type: ignore[no-untyped-def]
    return post(make_app(engine), CHAT, {"model": "puppet", "messages": USER, **more})


def events(text: str) -> list[object]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def test_a_completion_has_n_choices_and_the_tokens_of_all() -> None:
    engine = Puppet()
    reply = ask(engine, n=3, seed=7, temperature=0.5, max_tokens=9).json()
    assert [choice["message"]["content"] for choice in reply["choices"]] == ["1", "1", "1"]
    assert reply["usage"]["completion_tokens"] == 6
    assert reply["model"] == "puppet"
    (request,) = engine.requests
    assert (request.n, request.sampling.seed, request.sampling.max_new_tokens) == (3, 7, 9)


@pytest.mark.parametrize("model", ["__default__", "puppet"])
def test_the_model_is_the_route_key_or_the_model_it_runs(model: str) -> None:
    assert post(make_app(Puppet()), CHAT, {"model": model, "messages": USER}).status_code == 200


def test_a_model_that_two_instances_share_does_not_name_one() -> None:
    app = make_app({"a": Puppet(), "b": Puppet()})
    reply = post(app, CHAT, {"model": "puppet", "messages": USER})
    assert reply.status_code == 404
    message = "No GenRM instance registered for route_key='puppet'; registered: ['a', 'b']"
    assert reply.json()["error"] == {"type": "not_found", "message": message}


def test_models_lists_the_instances() -> None:
    listed = call(make_app({"quality": Puppet(), "safety": Puppet()}), "GET", "/v1/models").json()
    assert [(model["id"], model["owned_by"]) for model in listed["data"]] == [
        ("quality", "puppet"),
        ("safety", "puppet"),
    ]


def test_logprobs_of_an_engine_that_has_none_are_refused() -> None:
    refused = ask(Puppet(), logprobs=True)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "bad_request")


def test_logprobs_that_the_engine_did_not_give_are_not_left_out_in_silence() -> None:
    refused = ask(Puppet(capabilities=frozenset({"chat", "logprobs"})), logprobs=True)
    assert refused.status_code == 400
    assert "ask without logprobs" in refused.json()["error"]["message"]


def test_a_stream_opens_each_choice_and_ends_with_done() -> None:
    told = events(ask(StreamingPuppet(text="a b"), stream=True, n=2).text)
    assert told.pop() == "[DONE]"
    choices = [event["choices"][0] for event in told]  # type: ignore[index, call-overload]
    assert [(c["index"], c["delta"], c["finish_reason"]) for c in choices] == [
        (0, {"role": "assistant", "content": ""}, None),
        (0, {"content": "a"}, None),
        (1, {"role": "assistant", "content": ""}, None),
        (1, {"content": "a"}, None),
        (0, {"content": "b"}, "stop"),
        (1, {"content": "b"}, "stop"),
    ]


def test_an_engine_that_does_not_stream_sends_its_text_at_once() -> None:
    reply = ask(Puppet(text="all of it"), stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    told = events(reply.text)
    assert told[1]["choices"][0]["delta"] == {"content": "all of it"}  # type: ignore[index, call-overload]
    assert told[-1] == "[DONE]"


@pytest.mark.parametrize("engine", [Puppet(error=overflow()), StreamingPuppet(text="", stream_error=overflow())])
def test_a_stream_that_fails_before_its_first_word_has_its_status(engine: Puppet) -> None:
    if isinstance(engine, StreamingPuppet):
        engine.stream = refuse  # type: ignore[method-assign, assignment]
    reply = ask(engine, stream=True)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "context_overflow"


async def refuse(*_: object):  # type: ignore[no-untyped-def]
    raise overflow()
    yield


def test_a_stream_that_fails_later_says_so_and_is_not_done() -> None:
    lost = GenerationError(FailureKind.ENGINE_ERROR, "the engine went away")
    reply = ask(StreamingPuppet(text="a b", stream_error=lost), stream=True)
    told = events(reply.text)
    assert told[-1] == {"error": {"type": "engine_error", "message": "the engine went away"}}
    assert "[DONE]" not in told


def test_a_stream_that_just_ends_is_not_taken_for_a_whole_text() -> None:
    told = events(ask(StreamingPuppet(text="a b", unfinished=True), stream=True).text)
    assert told[-1] == {
        "error": {"type": "engine_error", "message": "the engine's stream ended with 1 of 1 texts unfinished"}
    }


def test_streams_are_counted_and_recorded_as_they_ended(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    body = {"model": "puppet", "messages": USER, "stream": True}
    post(make_app(StreamingPuppet(text="a b"), recorder=recorder), CHAT, body)
    (path,) = tmp_path.glob("*.parquet")
    (row,) = read_sealed(path)
    assert (row["outcome"], row["texts"], row["completion_tokens"]) == ("generated", ["ab"], 2)


def test_a_stream_ends_at_its_deadline() -> None:
    engine = StreamingPuppet(text="a b", gate=asyncio.Event())
    body = {"model": "puppet", "messages": USER, "stream": True}
    told = events(post(make_app(engine), CHAT, body, headers={"X-Assay-Deadline-S": "0.05"}).text)
    assert told[-1]["error"]["type"] == "timeout"  # type: ignore[index, call-overload]
    assert engine.cancelled == 1


def test_the_official_client_works() -> None:
    async def run() -> None:
        app = make_app(StreamingPuppet(text="yes it is"), api_key="s3cret")
        settings = ServiceSettings(port=0, api_key="s3cret", drain_s=1)  # type: ignore[arg-type]
        async with running(app, settings) as url:
            base = f"{url}/v1"
            await with_async_client(base)
            await asyncio.to_thread(with_sync_client, base)

    asyncio.run(run())


async def with_async_client(base: str) -> None:
    async with openai.AsyncOpenAI(base_url=base, api_key="s3cret", max_retries=0) as client:
        assert [model.id async for model in client.models.list()] == ["__default__"]
        whole = await client.chat.completions.create(
            model="puppet",
            messages=[{"role": "user", "content": "hi"}],
            n=2,
            extra_body={"chat_template_kwargs": {"enable_thinking": False}},
        )
        assert [choice.message.content for choice in whole.choices] == ["yes it is"] * 2
        stream = await client.chat.completions.create(
            model="puppet", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        words = [chunk.choices[0].delta.content async for chunk in stream]
        assert words == ["", "yes", "it", "is"]


def with_sync_client(base: str) -> None:
    with openai.OpenAI(base_url=base, api_key="s3cret", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError, match="No GenRM instance registered for route_key='gpt'"):
            client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "hi"}])
        with pytest.raises(openai.UnprocessableEntityError, match="'tools' is not supported here"):
            client.chat.completions.create(
                model="puppet",
                messages=[{"role": "user", "content": "hi"}],
                tools=[{"type": "function"}],  # type: ignore[list-item]
            )
    with (
        openai.OpenAI(base_url=base, api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.models.list()
