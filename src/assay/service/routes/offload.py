"""``POST /offload`` and ``POST /onload``: put an instance to sleep, and wake it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from assay.wire.status import OffloadBody, OffloadReply

from ..call import Call
from ..direct import DirectRoutes
from ..gateway import Gateway
from ..instance import Instance
from ..replies import json_reply
from ..settings import ServiceSettings
from .documented import errors

_RESPONSES = errors(400, 401, 404, 413, 422, 502, 503, 504)


def add_offload(routes: DirectRoutes, gateway: Gateway, settings: ServiceSettings) -> None:
    """Add the routes."""

    async def offload(request: Request, body: OffloadBody) -> Response:
        """Free an instance's memory once its running requests have ended.

        They get until ``X-Assay-Deadline-S`` (or the service's drain time), then they are aborted with 503.
        """
        instance = gateway.instance(body.route_key)
        freed = await instance.offload(frozenset(body.tags), Call.of(request).deadline(settings.drain_s))
        return _reply(instance, freed)

    async def onload(body: OffloadBody) -> Response:
        """Take the memory back."""
        instance = gateway.instance(body.route_key)
        return _reply(instance, await instance.onload(frozenset(body.tags)))

    for path, endpoint in (("/offload", offload), ("/onload", onload)):
        routes.add("POST", path, endpoint, response_model=OffloadReply, responses=_RESPONSES, tags=["lifecycle"])


def _reply(instance: Instance, bytes_: int) -> Response:
    return json_reply(
        {"route_key": instance.key, "state": instance.state, "asleep": sorted(instance.asleep), "bytes": bytes_}
    )
