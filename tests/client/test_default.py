from __future__ import annotations

import asyncio

import pytest

from assay.client import GenRMClient, get_genrm_client
from assay.client.default import _clients


def test_the_url_comes_from_the_argument_then_the_environment_then_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GenRMClient().base_url == "http://localhost:8000/genrm"
    monkeypatch.setenv("ASSAY_GENRM_URL", "http://judge:9000/genrm/")
    assert GenRMClient().base_url == "http://judge:9000/genrm"
    assert GenRMClient("http://other/genrm").base_url == "http://other/genrm"


def test_one_client_per_loop_and_url_and_a_closed_one_is_replaced() -> None:
    async def run() -> GenRMClient:
        client = get_genrm_client()
        assert get_genrm_client() is client
        assert get_genrm_client("http://localhost:8000/genrm/") is client
        assert get_genrm_client("http://other/genrm") is not client
        await client.close()
        fresh = get_genrm_client()
        assert fresh is not client
        assert not fresh.closed
        return fresh

    first, second = asyncio.run(run()), asyncio.run(run())
    assert first is not second


def test_loops_that_are_over_are_forgotten() -> None:
    async def run() -> int:
        get_genrm_client()
        return len(_clients)

    assert [asyncio.run(run()) for _ in range(3)] == [1, 1, 1]


def test_outside_of_a_loop_the_client_is_a_new_one() -> None:
    assert get_genrm_client() is not get_genrm_client()
