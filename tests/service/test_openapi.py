"""The OpenAPI document is true: every route is in it, and real replies are what it says they are."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from assay.wire.chat_reply import ChatReply, ModelsReply
from assay.wire.errors import ErrorReply
from assay.wire.generate import GenerateReply
from assay.wire.score import ScoreReply
from assay.wire.status import HealthReply, MetricsReply, OffloadReply

from .doubles import ITEM, USER, Puppet, SleepyPuppet, call, make_app

ROUTES: list[tuple[str, str, object, Any]] = [
    ("POST", "/generate", {"messages": USER}, GenerateReply),
    ("POST", "/score", {"judge": "verifier", "item": ITEM}, ScoreReply),
    ("GET", "/health", None, HealthReply),
    ("GET", "/metrics", None, MetricsReply),
    ("POST", "/v1/chat/completions", {"model": "puppet", "messages": USER}, ChatReply),
    ("GET", "/v1/models", None, ModelsReply),
    ("POST", "/offload", {}, OffloadReply),
    ("POST", "/onload", {}, OffloadReply),
]


def document() -> dict[str, Any]:
    return call(make_app(Puppet()), "GET", "/openapi.json", prefix="").json()


def test_the_document_lists_the_routes_and_no_others() -> None:
    told = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert told == {(method, f"/genrm{path}") for method, path, *_ in ROUTES}


@pytest.mark.parametrize(("method", "path", "body", "model"), ROUTES, ids=lambda value: str(value)[:24])
def test_replies_are_what_the_document_says(method: str, path: str, body: object, model: Any) -> None:
    reply = call(make_app(SleepyPuppet()), method, path, json=body)
    assert reply.status_code == 200
    TypeAdapter(model).validate_json(reply.content)
    told = document()["paths"][f"/genrm{path}"][method.lower()]
    assert told["responses"]["200"]["content"]["application/json"]["schema"]
    if body is not None:
        reference = told["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        properties = document()["components"]["schemas"][reference.rsplit("/", 1)[1]]["properties"]
        assert set(body) <= set(properties)  # type: ignore[call-overload]


def test_errors_are_told_with_their_shape() -> None:
    told = document()
    for path in ("/genrm/generate", "/genrm/score"):
        responses = told["paths"][path]["post"]["responses"]
        assert {"404", "413", "422", "429", "503", "504"} <= set(responses)
        for status in ("404", "422", "429"):
            schema = responses[status]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorReply"}
    refused = call(make_app(Puppet()), "POST", "/generate", json={})
    assert ErrorReply.model_validate_json(refused.content).error.type == "invalid_request"
