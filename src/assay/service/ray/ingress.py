"""One ingress replica: the app over shared engines, its direct port, and the word to the supervisor that it is there.

An ASGI app, built where it runs. It owns the order in which these parts start and end; Ray Serve calls it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from assay.core import log as logs
from assay.core.errors import AssayError
from assay.engines.ray.actors import ActorWay, named, settle
from assay.engines.ray.cluster import own_address, own_node_is_head
from assay.engines.ray.estate import Estate
from assay.engines.ray.letters import Lost
from assay.engines.ray.shared import SharedEngine
from assay.engines.ray.supervisor import BEAT_S, find_keeper

from ..app import create_app
from ..assemble import assemble
from ..gateway import Gateway
from ..settings import is_loopback
from .direct import add_endpoints, listening
from .follow import follow
from .spec import IngressSpec

log = logging.getLogger(__name__)

_ATTACH_S = 10.0
"""A replica that joins running engines is ready within a moment, and takes no request before. Where the engines take
longer they have yet to start: then the replica serves, so that ``/health`` can say so."""


class Ingress:
    """The ASGI app of one replica."""

    def __init__(self, spec: IngressSpec) -> None:
        """Raises AssayError for settings that cannot be served."""
        logs.setup(spec.ray.log_level)
        self._spec = spec
        self._estate = spec.estate()
        self._name = uuid.uuid4().hex
        self._urls: tuple[str, ...] = ()
        engines = {
            one.route_key: SharedEngine(partial(find_keeper, self._estate, one.route_key), model=one.model_path)
            for one in self._estate.specs
        }
        self._app = create_app(assemble(spec.config, engines), spec.settings)
        add_endpoints(self._app, spec.settings, lambda: self._urls)
        self._gateway: Gateway = self._app.state.gateway
        for key, engine in engines.items():
            engine.listen(partial(follow, self._gateway.instances[key]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        # Serve mounts the app at its prefix; the app's own routes have it too.
        await self._app({**scope, "root_path": ""}, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as parts:
            await receive()
            await parts.enter_async_context(self._app.router.lifespan_context(self._app))
            await parts.enter_async_context(self._present())
            await self._attached()
            settle()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _attached(self) -> None:
        ready = asyncio.ensure_future(self._gateway.ready())
        await asyncio.wait({ready}, timeout=_ATTACH_S)
        if not ready.done():
            ready.cancel()
        elif ready.exception() is not None:
            log.error("this replica serves its own failure: %s", ready.exception())

    @asynccontextmanager
    async def _present(self) -> AsyncGenerator[None]:
        """Listening directly where that is wanted, and known to be."""
        async with AsyncExitStack() as parts:
            url = None
            if (address := _direct_address(self._spec)) is not None:
                url = await parts.enter_async_context(listening(self._app, self._spec.settings, address))
            beating = asyncio.ensure_future(self._beat(url))
            try:
                yield
            finally:
                beating.cancel()
                await _leave(self._estate, self._name)

    async def _beat(self, url: str | None) -> None:
        """Say that this replica is there, and learn where the others listen."""
        while True:
            try:
                supervisor = ActorWay(await asyncio.to_thread(named, self._estate.supervisor))
                while True:
                    self._urls = await supervisor.call("beat", self._name, url)
                    await asyncio.sleep(BEAT_S)
            except Lost as error:
                log.info("the supervisor cannot be reached: %s", error.detail)
                await asyncio.sleep(BEAT_S)


def _direct_address(spec: IngressSpec) -> str | None:
    """The address that the direct port binds; None for no such port."""
    if not spec.ray.direct:
        return None
    if is_loopback(spec.settings.host):
        # Whoever may talk to the service sits on the head node, where the proxy is.
        return "127.0.0.1" if own_node_is_head() else None
    return own_address()


async def _leave(estate: Estate, name: str) -> None:
    try:
        await ActorWay(await asyncio.to_thread(named, estate.supervisor)).call("leave", name)
    except AssayError as error:
        log.info("the supervisor cannot be told that this replica leaves: %s", error)


def build_ingress(data: dict[str, Any]) -> Ingress:
    """The app of a replica, from ``IngressSpec.dump``."""
    return Ingress(IngressSpec.load(data))
