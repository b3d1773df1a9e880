from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay.core.errors import GenerationError
from assay.core.types import ChatPrompt, FailureKind, Message
from assay.engines.fake.engine import FakeEngine
from assay.scoring.journal import read_sealed
from assay.scoring.recorder import Recorder
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.settings import ServiceSettings

from .doubles import USER, Puppet, call, client_of, make_app, overflow, post


def test_the_body_is_the_documented_one_to_the_byte() -> None:
    reply = post(make_app(Puppet()), "/generate", {"messages": USER})
    assert reply.status_code == 200
    assert reply.content == b'{"response":"1"}'
    assert reply.headers["content-type"] == "application/json"
    assert "x-assay-finish-reason" not in reply.headers


def test_the_engine_is_asked_what_the_request_says() -> None:
    engine = Puppet()
    image = [{"type": "image_url", "image_url": {"url": "data:,"}}]
    messages = [{"role": "system", "content": "Judge."}, {"role": "user", "content": image}]
    body = {"messages": messages, "sampling_params": {"temperature": 0.2, "max_response_len": 5}}
    reply = post(make_app(engine), "/generate", body, headers={"x-request-id": "step-7/42"})
    (request,) = engine.requests
    assert request.id == "step-7/42" == reply.headers["x-request-id"]
    assert request.prompt == ChatPrompt(
        messages=(Message(role="system", content="Judge."), Message(role="user", content=tuple(image)))
    )
    assert (request.sampling.temperature, request.sampling.max_new_tokens, request.sampling.top_p) == (0.2, 5, 1.0)
    assert request.n == 1


@pytest.mark.parametrize(
    ("path", "more"),
    [("/generate", {"sampling_params": {"regex": "1|0"}}), ("/v1/chat/completions", {"model": "m", "regex": "1|0"})],
)
def test_a_grammar_reaches_the_engine_and_one_that_cannot_apply_it_says_so(path: str, more: dict[str, object]) -> None:
    engine = Puppet()
    assert post(make_app({"m": engine}), path, {"messages": USER, **more}).status_code == 200
    assert engine.requests[-1].sampling.regex == "1|0"
    hub = Hub(instances={"m": Scorer(FakeEngine(), instance="m")})
    reply = post(create_app(hub, ServiceSettings()), path, {"messages": USER, **more})
    assert reply.status_code == 400
    assert "the fake engine cannot constrain a reply by regex here" in reply.json()["error"]["message"]


def test_a_text_cut_at_its_length_says_so_in_a_header() -> None:
    reply = post(make_app(Puppet(finish_reason="length")), "/generate", {"messages": USER})
    assert reply.json() == {"response": "1"}
    assert reply.headers["x-assay-finish-reason"] == "length"


def test_route_keys_choose_the_instance() -> None:
    for key, text in (("quality", "q"), ("safety", "s")):
        app = make_app({"quality": Puppet(text="q"), "safety": Puppet(text="s")})
        assert post(app, "/generate", {"messages": USER, "route_key": key}).json() == {"response": text}


def test_an_unknown_route_key_is_a_404_that_names_it_and_lists_the_others() -> None:
    reply = post(make_app(Puppet()), "/generate", {"messages": USER, "route_key": "x"})
    assert reply.status_code == 404
    assert reply.json() == {
        "error": {
            "type": "not_found",
            "message": "No GenRM instance registered for route_key='x'; registered: ['__default__']",
        }
    }


def test_no_route_key_among_several_instances_is_a_404_that_lists_them() -> None:
    reply = post(make_app({"quality": Puppet(), "safety": Puppet()}), "/generate", {"messages": USER})
    assert reply.status_code == 404
    assert reply.json()["error"]["message"] == (
        "No GenRM instance registered for route_key='__default__'; registered: ['quality', 'safety']"
    )


def test_the_only_named_instance_answers_without_a_key() -> None:
    assert post(make_app({"quality": Puppet(text="q")}), "/generate", {"messages": USER}).json() == {"response": "q"}


@pytest.mark.parametrize(
    ("error", "status", "kind", "message"),
    [
        (overflow(), 400, "context_overflow", "the prompt has 200 tokens; the context is 128"),
        (GenerationError(FailureKind.BAD_REQUEST, "takes no images"), 400, "bad_request", "takes no images"),
        (GenerationError(FailureKind.OVERLOADED, "busy"), 429, "overloaded", "busy"),
        (GenerationError(FailureKind.ENGINE_ERROR, "gone"), 502, "engine_error", "gone"),
        (GenerationError(FailureKind.ASLEEP, "asleep"), 503, "asleep", "asleep"),
        (GenerationError(FailureKind.TIMEOUT, "too late"), 504, "timeout", "too late"),
        (RuntimeError("a bug"), 502, "engine_error", "RuntimeError: a bug"),
    ],
)
def test_an_engine_that_fails_is_told_by_kind(error: Exception, status: int, kind: str, message: str) -> None:
    reply = post(make_app(Puppet(error=error)), "/generate", {"messages": USER})
    assert reply.status_code == status
    assert reply.json() == {"error": {"type": kind, "message": message}}
    assert ("retry-after" in reply.headers) == (status in (429, 503))


def test_an_aborted_text_is_never_handed_out_as_a_whole_one() -> None:
    reply = post(make_app(Puppet(finish_reason="abort")), "/generate", {"messages": USER})
    assert reply.status_code == 502
    assert "aborted" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "messages: Field required"),
        ({"messages": []}, "messages: List should have at least 1 item"),
        ({"messages": USER, "temperature": 1}, "temperature: unknown key (got 1)"),
        ({"messages": USER, "sampling_params": {"max_toks": 1}}, "sampling_params.max_toks: unknown key (got 1)"),
    ],
)
def test_a_malformed_body_is_a_422_that_names_the_place(body: object, message: str) -> None:
    reply = post(make_app(Puppet()), "/generate", body)
    assert reply.status_code == 422
    assert reply.json()["error"]["type"] == "invalid_request"
    assert reply.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_strange_web_page_could_send_is_refused(content_type: str) -> None:
    request = {"content": b'{"messages":[{"role":"user","content":"x"}]}', "headers": {"content-type": content_type}}
    reply = call(make_app(Puppet()), "POST", "/generate", **request)
    assert reply.status_code == 422
    assert "Content-Type must be application/json" in reply.json()["error"]["message"]


def test_the_deadline_of_the_header_reaches_the_engine() -> None:
    engine = Puppet()
    post(make_app(engine, deadline_s=100), "/generate", {"messages": USER}, headers={"X-Assay-Deadline-S": "7.5"})
    post(make_app(engine, deadline_s=100), "/generate", {"messages": USER})
    assert 7 < engine.deadlines[0] <= 7.5
    assert 99 < engine.deadlines[1] <= 100


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf"])
def test_a_deadline_that_is_no_time_is_refused(value: str) -> None:
    reply = post(make_app(Puppet()), "/generate", {"messages": USER}, headers={"X-Assay-Deadline-S": value})
    assert reply.status_code == 422
    assert repr(value) in reply.json()["error"]["message"]


def test_a_passed_deadline_is_a_504_and_the_engine_stops() -> None:
    engine = Puppet(gate=asyncio.Event())
    reply = post(make_app(engine), "/generate", {"messages": USER}, headers={"X-Assay-Deadline-S": "0.05"})
    assert reply.status_code == 504
    assert engine.cancelled == 1


def test_every_generation_is_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)

    async def three() -> None:
        engine = Puppet()
        async with client_of(make_app(engine, recorder=recorder)) as client:
            await client.post("/generate", json={"messages": USER})
            engine.error = overflow()
            await client.post("/generate", json={"messages": USER})
            await client.post("/generate", json={"messages": USER, "route_key": "x"})

    asyncio.run(three())
    (path,) = tmp_path.glob("*.parquet")
    rows = list(read_sealed(path))
    assert [(row["outcome"], row["texts"], row["prompt_tokens"]) for row in rows] == [
        ("generated", ["1"], 10),
        ("context_overflow", [], 0),
    ]
    assert rows[0]["prompt"] == USER[0]["content"]
