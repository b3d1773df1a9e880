"""A service on a real local Ray with fake GPUs, and hands to break it with."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import ray

from assay.engines.ray.estate import NAMESPACE
from assay.service.assemble import ServeConfig
from assay.service.ray.run import deploy, joined, running
from assay.service.ray.settings import RaySettings
from assay.service.ray.spec import IngressSpec
from assay.service.settings import ServiceSettings

T = TypeVar("T")

RAYS_OWN = "ignore::DeprecationWarning:ray"
"""Ray Serve's configuration classes use what pydantic deprecates; the module is Ray's, so ours still count."""


@dataclass(frozen=True)
class Service:
    """A running service. ``loop``: the one that holds it; run everything that talks to it in there."""

    spec: IngressSpec
    url: str
    loop: asyncio.AbstractEventLoop

    def run(self, work: Awaitable[T], seconds: float = 60) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(seconds):
                return await work

        return self.loop.run_until_complete(bounded())

    def redeploy(self) -> None:
        deploy(self.spec)


@contextmanager
def service(
    instances: dict[str, Any], *, engine: str = "fake", app: str, num_gpus: int = 2, **settings: Any
) -> Generator[Service]:
    """A service of these instances, from start to stop."""
    config = {name: settings.pop(name) for name in ("cache", "record", "engine_options") if name in settings}
    spec = IngressSpec(
        config=ServeConfig.model_validate({"genrm": {"genrm_instances": instances}, "engine": engine, **config}),
        settings=ServiceSettings(port=0, drain_s=10),
        ray=RaySettings(app=app, num_gpus=num_gpus, log_level="warning", **settings),
    )
    loop = asyncio.new_event_loop()
    with joined(spec):
        stack = AsyncExitStack()
        try:
            url = loop.run_until_complete(stack.enter_async_context(running(spec)))
            yield Service(spec, url, loop)
        finally:
            loop.run_until_complete(stack.aclose())
            loop.close()


def kill_engine(spec: IngressSpec, route_key: str) -> int:
    """kill -9 of an engine host of that instance; its pid."""
    return _kill(NAMESPACE, spec.estate().keeper(route_key) + ":")


def kill_keeper(spec: IngressSpec, route_key: str) -> int:
    return _kill(NAMESPACE, spec.estate().keeper(route_key), whole=True)


def kill_supervisor(spec: IngressSpec) -> int:
    return _kill(NAMESPACE, spec.estate().supervisor, whole=True)


def pids(prefix: str) -> dict[str, int]:
    """The processes of our actors whose name starts so, of those that run now."""
    found: dict[str, int] = {}
    for name in _named(NAMESPACE):
        if name.startswith(prefix):
            with suppress(ray.exceptions.RayActorError, ValueError):
                found[name] = ray.get(ray.get_actor(name, NAMESPACE).pid.remote())
    return found


def kill_ingress(app: str) -> str:
    """End one ingress replica at once; its name."""
    name = next(name for name in _named("serve") if name.startswith("SERVE_REPLICA") and app in name)
    ray.kill(ray.get_actor(name, "serve"), no_restart=True)
    return name


def _kill(namespace: str, name: str, *, whole: bool = False) -> int:
    found = next(one for one in _named(namespace) if (one == name if whole else one.startswith(name)))
    pid = ray.get(ray.get_actor(found, namespace).pid.remote())
    os.kill(pid, signal.SIGKILL)
    return pid


def _named(namespace: str) -> list[str]:
    return [one["name"] for one in ray.util.list_named_actors(all_namespaces=True) if one["namespace"] == namespace]


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 30.0) -> float:
    """Wait until the condition holds; how many seconds that took."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110  other processes have no events
            await asyncio.sleep(0.05)
    return loop.time() - begin
