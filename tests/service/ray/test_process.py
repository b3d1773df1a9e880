"""The service as a process on somebody else's cluster of two nodes: placed, renewed and stopped by signals."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from assay.client import GenRMClient
from assay.core.errors import InputError
from assay.engines.ray.estate import NAMESPACE

from ..doubles import USER
from .cluster import RAYS_OWN, until
from .service_process import INSTANCES

pytestmark = [pytest.mark.filterwarnings(RAYS_OWN), pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
def two_nodes() -> Iterator[Any]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "num_gpus": 2, "include_dashboard": False})
    cluster.add_node(num_cpus=4, num_gpus=2)
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def lines(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """What it says until it says that."""
    seen: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        seen.append(line)
        if wanted in line:
            return seen
    raise AssertionError(f"it never said {wanted!r}: {''.join(seen)}")


def test_on_a_cluster_by_address(two_nodes: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("service_process.py")), str(port), two_nodes.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert f"ready: http://127.0.0.1:{port}/genrm" in lines(process, "service ready")[-1]
        asyncio.run(both_answer(f"http://127.0.0.1:{port}/genrm"))
        ray.init(address=two_nodes.address, log_to_driver=False, logging_level="error")
        before = named()
        # Three engines in three bundles with a GPU; the cluster has two GPUs a node, so they are on both.
        assert len([name for name in before if name.count(":") == 4]) == 3
        assert ray.available_resources()["GPU"] == 1
        process.send_signal(signal.SIGHUP)
        lines(process, "its ingress replicas are new")
        assert named() == before
        asyncio.run(both_answer(f"http://127.0.0.1:{port}/genrm"))
        process.send_signal(signal.SIGTERM)
        lines(process, "Assay GenRM service stopped")
        assert process.wait(20) == 0
        # What was ours is gone, and the cluster is as it was.
        assert named() == set()
        assert ray.available_resources()["GPU"] == 4
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def named() -> set[str]:
    return {one["name"] for one in ray.util.list_named_actors(all_namespaces=True) if one["namespace"] == NAMESPACE}


async def both_answer(url: str) -> None:
    async with GenRMClient(url, timeout_s=20, direct=True) as client:
        assert await client.generate(USER, route_key="quality") == "1"
        assert await client.generate(USER, route_key="safety") == "1"


def test_a_declared_application_takes_its_engines_along_when_it_is_deleted(two_nodes: Any) -> None:
    from ray import serve  # warns when it is imported, so not while tests are collected

    from assay.service.ray.deployment import build

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = {
        "config": {"genrm": {"genrm_instances": INSTANCES}, "engine": "fake"},
        "ray": {"app": "declared", "num_ingress": 1, "linger_s": 2, "log_level": "warning"},
    }
    ray.init(address=two_nodes.address, log_to_driver=False, logging_level="error")
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    serve.run(build(arguments), name="declared", route_prefix="/genrm")
    asyncio.run(both_answer(f"http://127.0.0.1:{port}/genrm"))
    assert "assay:declared:quality" in named()
    serve.delete("declared")

    async def gone() -> bool:
        return named() == set() and ray.available_resources().get("GPU") == 4

    asyncio.run(until(gone, 30))
    serve.shutdown()


def test_a_declared_application_is_checked_before_it_is_deployed() -> None:
    from assay.service.ray.deployment import build

    with pytest.raises(InputError, match="args lack 'config'"):
        build({})
    with pytest.raises(InputError, match="max_quue"):
        build({"config": {"genrm": {"genrm_model_path": "q"}}, "settings": {"max_quue": 1}})
