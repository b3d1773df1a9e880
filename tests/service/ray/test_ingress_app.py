"""The ingress app without a cluster: its extra route, its token, its path under Serve's mount."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from assay.core.errors import InputError
from assay.engines.ray.letters import News
from assay.service.instance import Instance
from assay.service.ray.follow import follow
from assay.service.ray.ingress import Ingress
from assay.service.ray.spec import IngressSpec

from ..doubles import Puppet, make_app


def spec(**settings: Any) -> IngressSpec:
    return IngressSpec.load(
        {
            "config": {"genrm": {"genrm_instances": {"quality": {"model_path": "q", "num_gpus": 1}}}, "engine": "fake"},
            "settings": settings,
        }
    )


async def get(app: Ingress, path: str, root_path: str = "", **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(app, root_path=root_path)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        return await client.get(path, headers=headers)


def test_the_endpoints_need_the_token_as_every_other_route_does() -> None:
    async def run() -> None:
        app = Ingress(spec(api_key="secret"))
        app._urls = ("http://10.0.0.1:7/genrm",)
        assert (await get(app, "/genrm/endpoints")).status_code == 401
        reply = await get(app, "/genrm/endpoints", Authorization="Bearer secret")
        assert reply.json() == {"endpoints": ["http://10.0.0.1:7/genrm"]}

    asyncio.run(run())


def test_the_same_routes_answer_below_serves_mount() -> None:
    async def run() -> None:
        app = Ingress(spec())
        for root_path in ("", "/genrm"):
            assert (await get(app, "/genrm/endpoints", root_path)).json() == {"endpoints": []}
            assert (await get(app, "/genrm/health", root_path)).status_code == 503
            assert (await get(app, "/genrm/nowhere", root_path)).json()["error"]["type"] == "not_found"

    asyncio.run(run())


def test_the_specification_survives_the_journey_key_and_all() -> None:
    there = spec(api_key="secret", host="0.0.0.0")
    back = IngressSpec.load(there.dump())
    assert back == there
    assert back.estate().digest() == there.estate().digest()
    assert "secret" not in repr(there)


def test_equal_engines_have_an_equal_digest_and_others_another() -> None:
    one = spec().estate()
    assert spec(port=1234).estate().digest() == one.digest()
    other = spec().config.model_copy(update={"engine_options": {"default": "0"}})
    assert IngressSpec(config=other, settings=spec().settings, ray=spec().ray).estate().digest() != one.digest()


def test_a_setting_that_an_engine_refuses_is_refused_before_anything_starts() -> None:
    for option in ("nonsense", "gpu_ids"):
        config = spec().config.model_copy(update={"engine_options": {option: [1]}})
        with pytest.raises(InputError, match=option):
            IngressSpec(config=config, settings=spec().settings, ray=spec().ray).estate().check()


def test_an_instance_follows_what_other_replicas_did() -> None:
    puppet = Puppet()
    instance: Instance = make_app(puppet).state.gateway.instances["__default__"]
    asleep = News(1, puppet.info, frozenset({"weights"}), True)
    awake = News(2, puppet.info, frozenset(), True)
    instance.state = "ready"
    follow(instance, asleep)
    assert (instance.state, instance.asleep) == ("asleep", {"weights"})
    follow(instance, awake)
    assert (instance.state, instance.asleep) == ("ready", frozenset())
    # It is this replica that puts it to sleep: that is still under way.
    instance.state = "draining"
    follow(instance, asleep)
    assert instance.state == "draining"
    instance.state = "failed"
    follow(instance, awake)
    assert instance.state == "failed"
