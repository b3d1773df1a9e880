"""The service on Ray from start to end: the cluster, the engines, the ingress, and their clean stop.

Owns the order, and who is told what when something fails. A service that was put on a cluster of somebody else's leaves
nothing of its own behind, and nothing of theirs touched.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import aiohttp

from assay.core.errors import AssayError, StartError
from assay.engines.ray.actors import ActorWay, named, told
from assay.engines.ray.cluster import nodes
from assay.engines.ray.joining import connected
from assay.engines.ray.letters import Lost
from assay.engines.ray.placement import make_plan
from assay.engines.ray.shared import SharedEngine
from assay.engines.ray.supervisor import find_keeper, find_supervisor

from ..assemble import ServeConfig, assemble
from ..server import bind
from ..settings import ServiceSettings, is_loopback
from .settings import RaySettings
from .spec import IngressSpec

log = logging.getLogger(__name__)

_OBJECT_STORE_BYTES = 256 << 20
"""For messages of some kilobytes; Ray's default is a third of the machine's memory."""
_REACHED_S = 60.0


def serve_on_ray(config: ServeConfig, settings: ServiceSettings, ray: RaySettings) -> None:
    """Run the service until SIGINT or SIGTERM, and stop it cleanly; SIGHUP replaces its ingress replicas one by one.

    Raises:
        InputError: a wrong setting, or engines that the cluster can never hold.
        StartError: no cluster, a port that is taken, no room, or an engine that did not start.
    """
    asyncio.run(_serve(IngressSpec(config=_absolute(config), settings=settings, ray=ray)))


async def _serve(spec: IngressSpec) -> None:
    stopped = False
    task = asyncio.current_task()
    assert task is not None
    renew = asyncio.Event()

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    try:
        async with AsyncExitStack() as parts:
            parts.enter_context(joined(spec))
            # After Ray has put its own in place.
            parts.enter_context(_signals({signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGHUP: renew.set}))
            url = await parts.enter_async_context(running(spec))
            print(f"Assay GenRM service ready: {url}  (Ctrl-C stops it)", flush=True)
            while await renew.wait():
                renew.clear()
                print("Assay GenRM service: replacing its ingress replicas", flush=True)
                await asyncio.to_thread(deploy, spec)
                print("Assay GenRM service: its ingress replicas are new", flush=True)
    except asyncio.CancelledError:
        if not stopped:
            raise
        task.uncancel()
        print("Assay GenRM service stopped", flush=True)


@contextmanager
def joined(spec: IngressSpec) -> Generator[None]:
    """Connected to the cluster that the settings name, or to one that is started here and ends with this.

    Raises:
        StartError: there is no such cluster.
    """
    bundles = sum(demand.engines * max(1, demand.gpus) for demand in spec.estate().demands(with_gpus=True))
    with connected(
        spec.ray.address, num_gpus=spec.ray.num_gpus, bundles=bundles, object_store_bytes=_OBJECT_STORE_BYTES
    ):
        yield


@asynccontextmanager
async def running(spec: IngressSpec) -> AsyncGenerator[str]:
    """The service on the cluster that this process is connected to, from ready to stopped; gives its base URL.

    Raises:
        InputError, StartError: as in ``serve_on_ray``.
    """
    spec = _checked(spec)
    async with AsyncExitStack() as parts:
        parts.push_async_callback(_close_engines, spec)
        await find_supervisor(spec.estate())
        async with in_use(spec):
            await asyncio.to_thread(_start_serve, spec)
            parts.push_async_callback(asyncio.to_thread, _stop_serve, spec)
            await asyncio.to_thread(deploy, spec)
            await _engines_ready(spec)
            url = _url(spec.settings)
            await _reached(url)
        yield url


@asynccontextmanager
async def in_use(spec: IngressSpec) -> AsyncGenerator[None]:
    """The engines count as used meanwhile, although no replica is there yet: Serve can take minutes to start."""

    async def say() -> None:
        while True:
            await asyncio.sleep(spec.ray.linger_s / 4)
            with suppress(AssayError):
                await find_supervisor(spec.estate())

    saying = asyncio.ensure_future(say())
    try:
        yield
    finally:
        saying.cancel()
        await asyncio.gather(saying, return_exceptions=True)


def deploy(spec: IngressSpec) -> None:
    """Put the ingress replicas there; those that are there already are replaced one after the other.

    A replica that is to end takes no new requests and answers those that it has. Raises StartError.
    """
    from ray import serve
    from ray.exceptions import RayError

    from .deployment import application

    try:
        serve.run(application(spec), name=spec.ray.app, route_prefix=spec.settings.prefix or "/")
    except (RuntimeError, RayError) as error:
        raise StartError(f"the ingress replicas could not be started: {error}") from error


def _checked(spec: IngressSpec) -> IngressSpec:
    """The specification with a port of its own; everything that can be known to be wrong is said now."""
    estate = spec.estate()
    estate.check()
    bare = spec.config.model_copy(update={"cache": None, "record": None})
    assemble(bare, {one.route_key: _engine(spec, one.route_key) for one in estate.specs})
    known = list(nodes().values())
    make_plan(estate.demands(with_gpus=any(node.gpus for node in known)), known)
    settings = spec.settings
    if spec.ray.address is None:
        # The proxy binds it again: a moment in which it is nobody's.
        with bind(settings.host, settings.port) as listener:
            settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    return IngressSpec(config=spec.config, settings=settings, ray=spec.ray)


def _absolute(config: ServeConfig) -> ServeConfig:
    """Paths as they are for processes that run elsewhere."""
    stores = {name: path.absolute() for name in ("cache", "record") if (path := dict(config)[name]) is not None}
    return config.model_copy(update={**stores, "judge_files": tuple(map(os.path.abspath, config.judge_files))})


def _start_serve(spec: IngressSpec) -> None:
    from ray import serve
    from ray.exceptions import RayError

    if spec.ray.app in serve.status().applications:
        log.warning("the app %r is there already: its replicas are replaced, and it ends with this", spec.ray.app)

    everywhere = spec.ray.address is not None and not is_loopback(spec.settings.host)
    try:
        serve.start(
            proxy_location="EveryNode" if everywhere else "HeadOnly",
            http_options={"host": spec.settings.host, "port": spec.settings.port, "keep_alive_timeout_s": 75},
            logging_config={"enable_access_log": False, "log_level": "WARNING"},
        )
    except RayError as error:
        raise StartError(f"Ray Serve did not start: {told(error)}") from error


def _stop_serve(spec: IngressSpec) -> None:
    from ray import serve

    if spec.ray.address is None:
        serve.shutdown()
    else:
        serve.delete(spec.ray.app)


async def _engines_ready(spec: IngressSpec) -> None:
    """Wait until all engines run. Raises the first error of one that does not."""
    engines = [_engine(spec, one.route_key) for one in spec.estate().specs]
    starts = [asyncio.ensure_future(engine.start()) for engine in engines]
    try:
        for start in asyncio.as_completed(starts):
            await start
    finally:
        for start in starts:
            start.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
        await asyncio.gather(*(engine.close() for engine in engines))


async def _close_engines(spec: IngressSpec) -> None:
    try:
        supervisor = ActorWay(await asyncio.to_thread(named, spec.estate().supervisor))
        # Another app may go by this name: that was why ours did not start.
        if await supervisor.call("close", spec.estate().digest()):
            supervisor.kill()
    except Lost as error:
        log.warning("the engines could not be closed: %s", error)


async def _reached(url: str) -> None:
    """Wait until the proxy answers for the app. Raises StartError."""
    last = "nothing was tried"
    try:
        async with asyncio.timeout(_REACHED_S), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{url}/health") as reply:
                        if reply.status == 200:
                            return
                        last = f"HTTP {reply.status}: {(await reply.text())[:200]}"
                except aiohttp.ClientError as error:
                    last = str(error)
                await asyncio.sleep(0.1)
    except TimeoutError:
        fix = "where Ray Serve runs already, its own host and port count: name those"
        raise StartError(f"the service was not reached at {url} within {_REACHED_S:g} s ({last}); {fix}") from None


def _engine(spec: IngressSpec, key: str) -> SharedEngine:
    estate = spec.estate()
    model = next(one.model_path for one in estate.specs if one.route_key == key)
    return SharedEngine(partial(find_keeper, estate, key), model=model)


def _url(settings: ServiceSettings) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}{settings.prefix}"


@contextmanager
def _signals(handlers: dict[signal.Signals, Callable[[], Any]]) -> Generator[None]:
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
