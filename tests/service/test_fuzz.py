"""Whatever JSON comes, the service answers with a status of the contract and a body of its shape; never with a 500."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.wire.errors import ErrorReply

from .doubles import Puppet, SleepyPuppet, client_of, make_app

texts = st.text(max_size=12) | st.sampled_from(["user", "assistant", "text", "verifier", "pointwise", "math", "puppet"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(1, 12).flatmap(lambda n: anything if n == 12 else good)


parts = st.fixed_dictionaries({"type": mostly(texts)}, optional={"text": mostly(texts), "image_url": anything})
message = st.fixed_dictionaries(
    {"role": mostly(st.sampled_from(["user", "system", "assistant"])), "content": mostly(texts | st.lists(parts))}
)
messages = st.lists(mostly(message), max_size=3)
sampling = st.dictionaries(
    st.sampled_from(["temperature", "top_p", "top_k", "max_tokens", "stop", "seed", "chat_template_kwargs"]), anything
)
common = {"candidates": mostly(st.lists(mostly(texts), min_size=1, max_size=3)), "reference": mostly(texts)}
item = st.fixed_dictionaries(common | {"prompt": mostly(texts)}, optional={"metadata": anything}) | (
    st.fixed_dictionaries(common | {"messages": mostly(messages)}, optional={"prompt": mostly(texts)})
)
BODIES = {
    "/generate": st.fixed_dictionaries(
        {"messages": mostly(messages)}, optional={"sampling_params": mostly(sampling), "route_key": mostly(texts)}
    ),
    "/score": st.fixed_dictionaries(
        {"judge": mostly(st.sampled_from(["verifier", "pointwise", "math"])), "item": mostly(item)},
        optional={"seed": mostly(st.integers(0)), "k": mostly(st.just(1)), "deadline_s": mostly(st.just(5))},
    ),
    "/v1/chat/completions": st.fixed_dictionaries(
        {"model": mostly(st.just("puppet")), "messages": mostly(messages)},
        optional={"n": mostly(st.integers(1, 3)), "stream": mostly(st.booleans()), "tools": anything, "stop": anything},
    ),
    "/onload": st.fixed_dictionaries({}, optional={"tags": anything, "route_key": anything}),
}
JSON = {"content-type": "application/json"}
STATUSES = {200, 400, 404, 422}


class Service:
    """The app on a loop of its own, so that many examples share one start."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._opened = client_of(make_app(SleepyPuppet(text="\\boxed{1}\ud800"), rules=Puppet()))
        self._client = self._runner.run(self._opened.__aenter__())

    def post(self, path: str, body: object) -> httpx.Response:
        content = json.dumps(body).encode()
        return self._runner.run(self._client.post(path, content=content, headers=JSON))

    def close(self) -> None:
        self._runner.run(self._opened.__aexit__(None, None, None))
        self._runner.close()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


@pytest.mark.parametrize("path", BODIES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_body_gets_past_the_contract(service: Service, path: str, data: st.DataObject) -> None:
    reply = service.post(path, data.draw(BODIES[path] | anything))
    assert reply.status_code in STATUSES, reply.text
    if reply.status_code != 200:
        assert ErrorReply.model_validate_json(reply.content).error.message
