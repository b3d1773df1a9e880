"""The live side of a hub: its instances by route key, their start and stop, and what the service says of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from assay.core.errors import InputError
from assay.core.types import Json
from assay.engines.base import EngineHealth
from assay.judges.base import Judge
from assay.scoring.scorer import Scorer
from assay.wire.genrm import DEFAULT_KEY, RULES_KEY

from .hub import Hub
from .instance import Instance
from .metas import Metas
from .settings import ServiceSettings


class NotFound(InputError):
    """A name that nothing is registered under; the message lists those that are."""


class Gateway:
    """Finds who answers; starts and closes all of them."""

    def __init__(self, hub: Hub, settings: ServiceSettings) -> None:
        self.hub = hub
        self.instances = {key: _instance(hub, key, scorer, settings) for key, scorer in hub.instances.items()}
        self.rules = None if hub.rules is None else _instance(hub, RULES_KEY, hub.rules, settings)
        self.metas = Metas(hub.metas)
        self._started = asyncio.Event()

    def everyone(self) -> Iterator[Instance]:
        yield from self.instances.values()
        if self.rules is not None:
            yield self.rules

    def instance(self, route_key: str | None) -> Instance:
        """The instance of a route key; the only one when the key is left out.

        Raises:
            NotFound: no such instance, or several to choose from.
        """
        if route_key is None:
            if len(self.instances) == 1:
                return next(iter(self.instances.values()))
            route_key = DEFAULT_KEY
        try:
            return self.instances[route_key]
        except KeyError:
            raise _unregistered(route_key, self.instances) from None

    def model(self, name: str) -> Instance:
        """The instance that OpenAI's ``model`` names: a route key, or a model that exactly one instance has."""
        if name in self.instances:
            return self.instances[name]
        named = [i for i in self.instances.values() if name in (i.model_path, i.scorer.engine.info.model)]
        if len(named) != 1:
            raise _unregistered(name, self.instances)
        return named[0]

    def judge(self, name: str, route_key: str | None) -> tuple[Judge, Instance]:
        """A judge by name, and who answers it: a rule judge is asked of the rule engine.

        Raises:
            NotFound: no such judge, no such instance, or no rule engine.
        """
        judge = self.hub.judges.get(name)
        if judge is None:
            raise NotFound(f"No judge named {name!r}; offered: {sorted(self.hub.judges)!r}")
        if not judge.rule:
            return judge, self.instance(route_key)
        if route_key is not None:
            self.instance(route_key)
        if self.rules is None:
            raise NotFound(f"Judge {name!r} is answered by a rule engine, and this service runs none")
        return judge, self.rules

    async def start(self) -> None:
        """Start the engines one after the other: two that size themselves by the free memory must not race."""
        await self.metas.start()
        for instance in self.everyone():
            await instance.start()
        self._started.set()

    async def ready(self) -> None:
        """Wait until all engines run.

        Raises:
            AssayError: the first that could not be started.
        """
        await self._started.wait()
        for instance in self.everyone():
            if instance.error is not None:
                raise instance.error
        for error in self.metas.errors.values():
            raise error

    async def close(self) -> None:
        """Close the engines, then the caches and recorders. What fails to close does not keep the others open."""
        for instance in self.everyone():
            instance.state = "stopped"
        scorers = [instance.scorer for instance in self.everyone()]
        engines = {id(scorer.engine): scorer.engine for scorer in scorers}
        closing = (*(engine.close() for engine in engines.values()), self.metas.close())
        results = await asyncio.gather(*closing, return_exceptions=True)
        await asyncio.to_thread(_close_stores, scorers)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def health(self, timeout_s: float) -> tuple[bool, dict[str, Json]]:
        """Whether all is well, and the body of ``/health``."""
        everyone = list(self.everyone())
        told, metas = await asyncio.gather(
            asyncio.gather(*(instance.health(timeout_s) for instance in everyone)), self.metas.health(timeout_s)
        )
        healthy = all(one.healthy for one in (*told, *metas.values()))
        details = {
            instance.key: _health(one) | _adapter(instance) for instance, one in zip(everyone, told, strict=True)
        }
        body: dict[str, Json] = {"status": "healthy" if healthy else "unhealthy", "service": "genrm"}
        if list(self.instances) == [DEFAULT_KEY]:
            body |= {key: value for key, value in details[DEFAULT_KEY].items() if key != "status"}
        elif self.instances:
            body["instances"] = {key: details[key] for key in self.instances}
        if self.rules is not None and details[self.rules.key]["status"] != "healthy":
            body["rules"] = details[self.rules.key]
        if metas:
            body["metas"] = {name: _health(one) for name, one in metas.items()}
        for recorder in {id(i.scorer.recorder): i.scorer.recorder for i in everyone}.values():
            if recorder is not None and recorder.error is not None:
                body["recorder"] = recorder.error
        return healthy, body


def _health(told: EngineHealth) -> dict[str, Json]:
    detail: dict[str, Json] = {"status": "healthy" if told.healthy else "unhealthy"}
    if not told.healthy or told.state in ("asleep", "draining"):
        detail["state"] = told.state
    if told.error is not None:
        detail["error"] = told.error
    return detail


def _adapter(instance: Instance) -> dict[str, Json]:
    adapter = instance.scorer.engine.info.adapter
    return {"adapter": adapter} if adapter else {}


def _instance(hub: Hub, key: str, scorer: Scorer, settings: ServiceSettings) -> Instance:
    return Instance(
        key,
        scorer,
        model_path=hub.model_paths.get(key),
        max_in_flight=settings.max_in_flight,
        max_queue=settings.max_queue,
    )


def _unregistered(key: str, instances: dict[str, Instance]) -> NotFound:
    return NotFound(f"No GenRM instance registered for route_key={key!r}; registered: {list(instances)!r}")


def _close_stores(scorers: list[Scorer]) -> None:
    caches = {id(scorer.cache): scorer.cache for scorer in scorers}
    recorders = {id(scorer.recorder): scorer.recorder for scorer in scorers}
    for store in (*caches.values(), *recorders.values()):
        if store is not None:
            store.close()
