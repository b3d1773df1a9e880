"""``GET /health`` and ``GET /metrics``."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from assay.core.types import Json
from assay.engines.pool.report import PoolReport
from assay.wire.genrm import DEFAULT_KEY
from assay.wire.status import HealthReply, MetricsReply

from ..direct import DirectRoutes
from ..gateway import Gateway
from ..metrics import ServiceMetrics, instance_metrics
from ..replies import json_reply
from ..settings import ServiceSettings
from .documented import errors

_METRICS: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {"schema": {"type": "string"}} for kind in ("text/plain", "application/openmetrics-text")}},
    **errors(401),
}


def add_status(routes: DirectRoutes, gateway: Gateway, settings: ServiceSettings, metrics: ServiceMetrics) -> None:
    """Add the routes."""

    async def health() -> Response:
        """200 when every instance can be relied on (or sleeps on purpose), 503 when one cannot. Needs no token."""
        healthy, body = await gateway.health(settings.health_timeout_s)
        return json_reply(body, 200 if healthy else 503)

    async def show_metrics(request: Request) -> Response:
        """Facts and live counters as JSON; Prometheus text when ``Accept`` asks for text/plain or openmetrics."""
        accept = request.headers.get("accept", "")
        if "text/plain" in accept or "openmetrics" in accept:
            reports = await _reports(gateway, settings.health_timeout_s)
            text, content_type = metrics.exposition(accept, reports)
            return Response(text, headers={"Content-Type": content_type})
        return json_reply(await _json_metrics(gateway, settings.health_timeout_s))

    routes.add(
        "GET",
        "/health",
        health,
        response_model=HealthReply,
        response_model_exclude_none=True,
        responses={503: {"model": HealthReply, "description": "An instance is starting, lost or could not start."}},
        tags=["status"],
    )
    routes.add("GET", "/metrics", show_metrics, response_model=MetricsReply, responses=_METRICS, tags=["status"])


async def _reports(gateway: Gateway, timeout_s: float) -> dict[str, PoolReport]:
    """What happens in the pools, by instance."""
    everyone = tuple(gateway.everyone())
    told = await asyncio.gather(*(instance.report(timeout_s) for instance in everyone))
    return {one.key: report for one, report in zip(everyone, told, strict=True) if report is not None}


async def _json_metrics(gateway: Gateway, timeout_s: float) -> dict[str, Json]:
    asking = (instance.health(timeout_s) for instance in gateway.everyone())
    told, reports, metas = await asyncio.gather(
        asyncio.gather(*asking), _reports(gateway, timeout_s), gateway.metas.health(timeout_s)
    )
    everyone = {
        instance.key: instance_metrics(instance, one, reports.get(instance.key))
        for instance, one in zip(gateway.everyone(), told, strict=True)
    }
    body: dict[str, Json] = {"service": "genrm"}
    if list(gateway.instances) == [DEFAULT_KEY]:
        body |= everyone[DEFAULT_KEY]
    elif gateway.instances:
        body["instances"] = {key: everyone[key] for key in gateway.instances}
    if gateway.rules is not None:
        body["rules"] = everyone[gateway.rules.key]
    if metas:
        body["metas"] = gateway.metas.metrics(metas)
    body["judges"] = {name: judge.identity for name, judge in gateway.hub.judges.items()}
    return body
