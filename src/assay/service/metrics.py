"""Counters of one app, as JSON and as Prometheus text. A registry per app, so that two apps in a process stay apart.

Requests are counted as they end; everything else (judgments, tokens, places) is read off the live objects at the scrape
and costs a request nothing. What happens in pools, which may be in other processes, is asked for before the scrape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from assay.core.types import Json
from assay.engines.base import EngineHealth
from assay.engines.pool.report import PoolReport

from .gateway import Gateway
from .instance import Instance

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


@dataclass(slots=True)
class _Route:
    """The children of one route's metrics, looked up once."""

    seconds: Histogram
    by_status: dict[int, Counter] = field(default_factory=dict[int, Counter])


class ServiceMetrics:
    """What is counted per request, and the scrape."""

    def __init__(self, gateway: Gateway) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "assay_requests", "Requests by route and status.", ["route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "assay_request_seconds",
            "Seconds from a request's head to its answer's end.",
            ["route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._routes: dict[str, _Route] = {}
        self._live = _LiveCollector(gateway)
        self.registry.register(self._live)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """One request has ended."""
        known = self._routes.get(route)
        if known is None:
            known = self._routes[route] = _Route(self._seconds.labels(route))
        counter = known.by_status.get(status)
        if counter is None:
            counter = known.by_status[status] = self._requests.labels(route, str(status))
        counter.inc()
        known.seconds.observe(seconds)

    def exposition(self, accept: str, reports: Mapping[str, PoolReport]) -> tuple[bytes, str]:
        """The scrape in the format that ``accept`` asks for, and its content type. ``reports``: of the instances."""
        encoder, content_type = choose_encoder(accept)
        self._live.reports = reports
        return encoder(self.registry), content_type


def instance_metrics(instance: Instance, health: EngineHealth, report: PoolReport | None) -> dict[str, Json]:
    """One instance's part of ``/metrics`` in JSON."""
    info = instance.scorer.engine.info
    return {
        "model_path": instance.model_path,
        "num_gpus": info.num_gpus,
        "num_engines": info.num_engines,
        "model": info.model,
        "weight_version": info.weight_version,
        "adapter": info.adapter,
        "context_len": info.context_len,
        "parameters": info.parameters,
        "state": instance.state,
        "in_flight": instance.admission.running,
        "queued": instance.admission.waiting,
        "generations": instance.generations.snapshot(),
        "judgments": instance.scorer.counts.snapshot(),
        "engine": dict(health.detail),
        "waiting": [] if report is None else _waiting(report),
    }


def _waiting(report: PoolReport) -> list[Json]:
    """Who waits for what since when: the requests inside the engine that have been there for longest."""
    return [
        {
            "request_id": waiter.request_id,
            "replica": waiter.replica,
            "waited_s": round(waiter.waited_s, 3),
            "tokens": waiter.tokens,
            "attempts": waiter.attempts,
        }
        for waiter in report.waiting
    ]


class _LiveCollector(Collector):
    """Reads the gateway when it is scraped."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.reports: Mapping[str, PoolReport] = {}

    def collect(self) -> Iterator[Metric]:
        in_flight = GaugeMetricFamily("assay_in_flight", "Requests being worked on.", labels=["instance"])
        queued = GaugeMetricFamily("assay_queued", "Requests waiting for a place.", labels=["instance"])
        awake = GaugeMetricFamily("assay_ready", "1 while the instance takes requests.", labels=["instance"])
        judgments = CounterMetricFamily(
            "assay_judgments", "Judgments by outcome (verdict or failure kind).", labels=["instance", "outcome"]
        )
        cached = CounterMetricFamily(
            "assay_judgments_cached", "Judgments that cost no call of the engine.", labels=["instance"]
        )
        models = GaugeMetricFamily(
            "assay_model_info",
            "1: the instance judges with this model; adapter is name and digest, empty without one.",
            labels=["instance", "model", "weight_version", "adapter"],
        )
        generations = CounterMetricFamily("assay_generations", "Raw generations.", labels=["instance", "outcome"])
        tokens = CounterMetricFamily("assay_tokens", "Tokens by kind.", labels=["instance", "kind"])
        for instance in self._gateway.everyone():
            key, counts, raw = instance.key, instance.scorer.counts, instance.generations
            in_flight.add_metric([key], instance.admission.running)
            queued.add_metric([key], instance.admission.waiting)
            awake.add_metric([key], instance.state == "ready")
            info = instance.scorer.engine.info
            models.add_metric([key, info.model, info.weight_version, info.adapter], 1)
            judgments.add_metric([key, "verdict"], counts.verdicts)
            for kind, number in counts.failures.items():
                judgments.add_metric([key, kind], number)
            cached.add_metric([key], counts.cached)
            generations.add_metric([key, "answered"], raw.requests - raw.failures.total())
            for kind, number in raw.failures.items():
                generations.add_metric([key, kind], number)
            tokens.add_metric([key, "prompt"], counts.usage.prompt_tokens + raw.prompt_tokens)
            tokens.add_metric([key, "cached"], counts.usage.cached_tokens + raw.cached_tokens)
            tokens.add_metric([key, "completion"], counts.usage.completion_tokens + raw.completion_tokens)
        yield from (in_flight, queued, awake, models, judgments, cached, generations, tokens)
        yield from self._votes()
        yield from self._pools()

    def _votes(self) -> Iterator[Metric]:
        """What voting drew, dropped and spared, and what the meta RMs scored."""
        voted = CounterMetricFamily("assay_judgments_voted", "Judgments by vote.", labels=["instance"])
        stopped = CounterMetricFamily(
            "assay_judgments_stopped_early", "Judgments that needed fewer votes than k.", labels=["instance"]
        )
        drawn = CounterMetricFamily("assay_votes_drawn", "Votes drawn.", labels=["instance"])
        dropped = CounterMetricFamily("assay_votes_dropped", "Votes without a verdict.", labels=["instance", "kind"])
        metas = CounterMetricFamily("assay_meta_votes", "Votes shown to a meta RM.", labels=["meta", "outcome"])
        calls = CounterMetricFamily("assay_meta_calls", "Calls of the reward engine.", labels=["meta"])
        for instance in self._gateway.everyone():
            key, counts = instance.key, instance.scorer.counts
            voted.add_metric([key], counts.voted)
            stopped.add_metric([key], counts.stopped)
            drawn.add_metric([key], counts.drawn)
            for kind, number in counts.dropped.items():
                dropped.add_metric([key, kind], number)
        for name, meta in self._gateway.metas.scorers.items():
            metas.add_metric([name, "scored"], meta.counts.scored)
            for kind, number in meta.counts.failures.items():
                metas.add_metric([name, kind], number)
            calls.add_metric([name], meta.counts.usage.calls)
        yield from (voted, stopped, drawn, dropped, metas, calls)

    def _pools(self) -> Iterator[Metric]:
        """Deaths, rebuilds, sleeps, wakes and canaries of the instances that run a pool of engines."""
        events = CounterMetricFamily("assay_engine_events", "What happened to engines.", labels=["instance", "event"])
        last = GaugeMetricFamily(
            "assay_engine_last", "Figures of the last sleep and wake.", labels=["instance", "what"]
        )
        waits = GaugeMetricFamily("assay_longest_wait_seconds", "The oldest request inside.", labels=["instance"])
        for key, report in self.reports.items():
            for name, value in report.counters.items():
                family = last if name.endswith(("_s", "_bytes")) else events
                family.add_metric([key, name], value)
            waits.add_metric([key], report.longest_wait_s)
        yield from (events, last, waits)
