"""Meta RMs of a service: a plan names one, all instances share them, health and metrics tell of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.errors import InputError, StartError
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.engines.fake.reward import FakeRewardConfig, FakeRewardEngine
from assay.judges import build_judge
from assay.scoring.meta import MetaScorer
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.gateway import Gateway
from assay.service.hub import Hub
from assay.service.settings import ServiceSettings
from assay.wire.genrm import GenRMConfig

from .doubles import client_of

ITEM = {"prompt": "which?", "candidates": ["one", "other"]}
REPLIES = (r"\boxed{8, 3}", r"\boxed{2, 9}", "no verdict")


def served(*metas: str, engine: FakeRewardEngine | None = None, replies: Any = REPLIES) -> Any:
    scorers = {name: MetaScorer(engine or FakeRewardEngine(FakeRewardConfig())) for name in metas}
    scorer = Scorer(FakeEngine(FakeConfig(replies=replies)), metas=scorers)
    hub = Hub(instances={"__default__": scorer}, judges={"pointwise": build_judge("pointwise")}, metas=scorers)
    return create_app(hub, ServiceSettings())


def asked(app: Any, *bodies: dict[str, Any]) -> tuple[list[Any], Any, Any, str]:
    """The replies to ``/score``, then ``/health``, ``/metrics`` and its Prometheus text."""

    async def run() -> tuple[list[Any], Any, Any, str]:
        async with client_of(app) as client:
            replies = [await client.post("/score", json={"judge": "pointwise", "item": ITEM, **b}) for b in bodies]
            text = await client.get("/metrics", headers={"accept": "text/plain"})
            return replies, await client.get("/health"), (await client.get("/metrics")).json(), text.text

    return asyncio.run(run())


def test_a_plan_names_a_meta_rm_and_it_is_told() -> None:
    (reply,), health, metrics, text = asked(served("rm"), {"k": 8, "meta": "rm", "k_meta": 2, "min_valid": 1})
    votes = reply.json()["verdict"]["votes"]
    valid = [vote for vote in votes if "scores" in vote]
    assert sum(vote.get("kept", True) for vote in valid) == 2
    assert all("meta" in vote for vote in valid)
    assert health.json()["metas"] == {"rm": {"status": "healthy"}}
    assert metrics["metas"]["rm"]["scored"] == len(valid)
    assert metrics["judgments"]["votes_dropped"] == {"parse_error": 8 - len(valid)}
    assert f'assay_meta_votes_total{{meta="rm",outcome="scored"}} {len(valid)}.0' in text
    assert 'assay_votes_drawn_total{instance="__default__"} 8.0' in text


def test_judgments_that_stopped_early_are_counted() -> None:
    app = served(replies=(r"\boxed{10, 1}", r"\boxed{10, 1}"))
    _, _, metrics, text = asked(app, {"k": 16, "stop": "certain", "orders": "fixed"}, {"k": 2, "orders": "fixed"})
    assert (metrics["judgments"]["voted"], metrics["judgments"]["stopped_early"]) == (2, 1)
    assert "assay_judgments_stopped_early_total{" in text
    assert "metas" not in metrics


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    unable = {"k": 4, "meta": "rm", "stop": "certain"}
    (reply, none), _, _, _ = asked(served("rm", "big"), {"k": 4, "meta": "x"}, unable)
    assert reply.status_code == 422
    assert "no meta RM named 'x'; there are ['big', 'rm']" in reply.json()["error"]["message"]
    assert none.status_code == 422
    (reply,), _, _, _ = asked(served(), {"k": 4, "meta": "x"})
    assert "none is configured" in reply.json()["error"]["message"]


class Broken(FakeRewardEngine):
    async def start(self) -> None:
        raise StartError("no such reward model")


def test_one_that_cannot_start_makes_the_service_unhealthy_and_says_why() -> None:
    async def run() -> None:
        app = served("rm", engine=Broken(FakeRewardConfig()))
        gateway: Gateway = app.state.gateway
        async with client_of(app, ready=False) as client:
            with pytest.raises(StartError, match="no such reward model"):
                await gateway.ready()
            health = await client.get("/health")
            assert health.status_code == 503
            said = {"status": "unhealthy", "state": "failed", "error": "no such reward model"}
            assert health.json()["metas"] == {"rm": said}
            plain = await client.post("/score", json={"judge": "pointwise", "item": ITEM})
            assert plain.status_code == 200

    asyncio.run(run())


def test_they_are_built_from_the_configuration_and_shared() -> None:
    one = {"model_path": "m", "num_gpus": 1}
    genrm = GenRMConfig(genrm_instances={"a": one, "b": one})
    hub = assemble(ServeConfig(genrm=genrm, engine="fake", meta_rm={"rm": {"kind": "fake"}}))
    metas = [scorer.metas["rm"] for scorer in hub.instances.values()]
    assert metas[0] is metas[1] is hub.metas["rm"]
    with pytest.raises(InputError, match="meta RM 'rm': no reward engine is named 'x'"):
        assemble(ServeConfig(genrm=genrm, engine="fake", meta_rm={"rm": {"kind": "x"}}))
