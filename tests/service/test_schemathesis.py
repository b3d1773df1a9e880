"""Whatever follows from the OpenAPI document, or violates it, the service answers as that document says.

``ASSAY_FUZZ_CASES`` is the number of cases in all, shared out evenly among the routes that take a body. The suite draws
a few hundred; ``ASSAY_FUZZ_CASES=50000 pytest -s tests/service/test_schemathesis.py`` is the long run.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assay.core.types import FailureKind
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.rule.config import RuleConfig
from assay.engines.rule.engine import RuleEngine
from assay.judges import build_all
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.settings import ServiceSettings
from assay.wire.errors import STATUS, TYPES, ErrorReply

from .doubles import client_of

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

pytestmark = pytest.mark.timeout(7200)

CASES = int(os.environ.get("ASSAY_FUZZ_CASES", "200"))
POSTS = ("/genrm/generate", "/genrm/score", "/genrm/v1/chat/completions", "/genrm/offload", "/genrm/onload")
GETS = ("/genrm/health", "/genrm/metrics", "/genrm/v1/models")
OURS = {502, 503, 504}
"""Server errors that are ours on purpose: each has a failure kind."""
FAULTS = {"error_502": 0.1, "overloaded": 0.1, "truncated": 0.1, "empty": 0.1, "garbage": 0.1}
KNOWN = {
    "route_key": ["steady", "faulty"],
    "model": ["steady", "faulty"],
    "judge": ["verifier", "pointwise", "math"],
}
CONTENTS = ["", "Is 4 the sum of 2 and 2?", "word " * 50, [{"type": "text", "text": "2+2?"}], [{"type": "image_url"}]]


def app_of_fakes() -> FastAPI:
    """One engine that answers, one that fails in every way that takes no time, and the rule engine."""
    replies = ("1", "0", "\\boxed{7}", "\\boxed{0.5, 3}\ud800")
    steady = FakeEngine(FakeConfig(replies=replies, context_len=40, grammars=True))
    faulty = FakeEngine(FakeConfig(replies=("1", "0"), faults=FAULTS, retry_after_s=0))
    instances = {"steady": Scorer(steady, instance="steady"), "faulty": Scorer(faulty, instance="faulty")}
    judges = {judge.name: judge for judge in build_all()}
    hub = Hub(instances=instances, rules=Scorer(RuleEngine(RuleConfig()), instance="rules"), judges=judges)
    return create_app(hub, ServiceSettings(deadline_s=20))


class Fuzzed:
    """The app started on a loop of its own, its document, and the answers so far."""

    def __init__(self) -> None:
        app = app_of_fakes()
        self.schema = schemathesis.openapi.from_dict(app.openapi())
        self.answers: Counter[int] = Counter()
        self._runner = asyncio.Runner()
        self._opened = client_of(app, prefix="")
        self._client = self._runner.run(self._opened.__aenter__())

    def send(self, case: Any) -> httpx.Response:
        sent = case.as_transport_kwargs(base_url="http://service")
        taken = {key: sent[key] for key in ("headers", "params", "json") if sent.get(key) is not None}
        if sent.get("data") is not None:
            taken["content"] = sent["data"]
        reply = self._runner.run(self._client.request(sent["method"], sent["url"], **taken))
        self.answers[reply.status_code] += 1
        return reply

    def close(self) -> None:
        self._runner.run(self._opened.__aexit__(None, None, None))
        self._runner.close()


@pytest.fixture(scope="module")
def service() -> Iterator[Fuzzed]:
    service = Fuzzed()
    yield service
    service.close()


@pytest.fixture
def fuzzed(service: Fuzzed, request: pytest.FixtureRequest) -> Iterator[Fuzzed]:
    service.answers.clear()
    yield service
    print(f"\n{request.node.name}: {service.answers.total():,} cases, {dict(sorted(service.answers.items()))}")


def made_likely(body: Any, data: st.DataObject) -> None:
    """Names that exist, and what the document cannot say: else nearly every answer would be a 404 or a 422."""
    if not isinstance(body, dict) or data.draw(st.integers(0, 4)) == 0:
        return
    if "model" not in body and data.draw(st.integers(0, 8)):
        body.setdefault("route_key", None)
    for key in KNOWN.keys() & body.keys():
        if data.draw(st.integers(0, 8)):
            body[key] = data.draw(st.sampled_from(KNOWN[key]))
    item = body.get("item")
    if isinstance(item, dict) and data.draw(st.integers(0, 8)):
        body.pop("k", None)
        item.pop("messages" if data.draw(st.booleans()) else "prompt", None)
        if item.get("messages") is None:
            item["prompt"] = item.get("prompt") or "2+2?"
        else:
            item.pop("prompt", None)
    for holder in (body, item):
        messages = holder.get("messages") if isinstance(holder, dict) else None
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) and isinstance(message.get("content"), list) and data.draw(st.integers(0, 8)):
                message["content"] = data.draw(st.sampled_from(CONTENTS))


def check(case: Any, reply: httpx.Response) -> None:
    """The status, the media type and the body are what the document says; an error is typed and explained."""
    conformance = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    case.validate_response(reply, checks=conformance)
    assert reply.headers["X-Request-Id"]
    status = reply.status_code
    if status == 200:
        return
    assert status < 500 or status in OURS, reply.text
    error = ErrorReply.model_validate_json(reply.content).error
    assert error.message
    if status in TYPES and error.type == TYPES[status]:
        assert status < 500
    else:
        assert STATUS[FailureKind(error.type)] == status
    if status in (429, 503):
        assert int(reply.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("path", POSTS)
def test_bodies(fuzzed: Fuzzed, path: str, mode: str) -> None:
    generation = schemathesis.GenerationMode(mode)
    cases = fuzzed.schema[path]["POST"].as_strategy(generation_mode=generation)

    @settings(
        max_examples=max(1, CASES // (2 * len(POSTS))),
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, data=st.data())
    def fuzz(case: Any, data: st.DataObject) -> None:
        made_likely(case.body, data)
        check(case, fuzzed.send(case))

    fuzz()


@pytest.mark.parametrize("path", GETS)
def test_what_takes_no_body(fuzzed: Fuzzed, path: str) -> None:
    case = fuzzed.schema[path]["GET"].Case()
    for accept in ("application/json", "*/*", "text/plain", "application/openmetrics-text; version=1.0.0"):
        case.headers = {"Accept": accept}
        check(case, fuzzed.send(case))
