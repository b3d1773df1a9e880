"""The start of the service on Ray, without a cluster."""

from __future__ import annotations

import asyncio

import pytest

from assay.engines.ray.estate import Estate
from assay.engines.ray.letters import Lost
from assay.service.ray import run as starting
from assay.service.ray.settings import RaySettings
from assay.service.ray.spec import IngressSpec

from .test_ingress_app import spec


def test_engines_are_kept_while_serve_is_slow_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy cluster its proxy took longer than engines without a replica are kept, and they were closed."""
    asked: list[str] = []
    enough = asyncio.Event()

    async def find(estate: Estate) -> None:
        asked.append(estate.app)
        if len(asked) == 4:
            enough.set()
        if len(asked) == 2:
            raise Lost("the supervisor died")

    monkeypatch.setattr(starting, "find_supervisor", find)
    plain = spec()
    slow = IngressSpec(config=plain.config, settings=plain.settings, ray=RaySettings(app="slow", linger_s=0.04))

    async def main() -> None:
        async with starting.in_use(slow):
            await enough.wait()
        told = len(asked)
        await asyncio.sleep(0.05)
        assert len(asked) == told

    asyncio.run(main())
    assert set(asked) == {"slow"}
