"""A service over an engine that fails in every way: each item gets a verdict or a typed failure, the same one again."""

from __future__ import annotations

import asyncio

from assay.client import GenRMClient
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.wire.score import FailureReply, ItemBody

FAULTS = FakeConfig(
    replies=("1", "0"), faults={"error_502": 0.1, "truncated": 0.1, "empty": 0.1, "garbage": 0.1, "latency": 0.05}
)
N = 300


async def outcomes() -> list[str]:
    scorer = Scorer(FakeEngine(FAULTS), reask=0)
    hub = Hub(instances={"__default__": scorer}, judges={"verifier": build_judge("verifier")})
    settings = ServiceSettings(port=0, drain_s=1)
    items = [ItemBody(prompt="2+2?", candidates=[f"Answer: {n}"], reference="4") for n in range(N)]
    async with running(create_app(hub, settings), settings) as url, GenRMClient(url, timeout_s=20) as client:
        replies = await asyncio.gather(*(client.score("verifier", item) for item in items))
        metrics = await client.metrics()
    told = [
        str(reply.failure.kind) if isinstance(reply, FailureReply) else str(reply.verdict.scores) for reply in replies
    ]
    counts = metrics["judgments"]
    assert counts["judgments"] == N == counts["verdicts"] + sum(counts["failures"].values())
    return told


def test_every_item_has_its_outcome_and_the_same_one_again() -> None:
    first, second = asyncio.run(outcomes()), asyncio.run(outcomes())
    assert first == second
    assert len(first) == N
    kinds = set(first)
    assert {"[1.0]", "[0.0]", "engine_error", "parse_error"} <= kinds
    assert kinds <= {"[1.0]", "[0.0]", "engine_error", "parse_error", "truncated"}
