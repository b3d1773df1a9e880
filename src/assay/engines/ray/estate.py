"""Everything that the engines of one app are made from: equal on all who deal with them, and small."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.engines.base import Engine
from assay.engines.fake.engine import FakeEngine
from assay.engines.instances import Kind, instance_engine, replicas
from assay.engines.pool.config import PoolConfig
from assay.wire.genrm import InstanceSpec

from .placement import Demand

NAMESPACE = "assay"
"""Ray namespace of the actors with a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """The engines of one app. Replicas that share them must have an equal one."""

    app: str
    specs: tuple[InstanceSpec, ...]
    kind: Kind
    options: dict[str, Any]
    pool: PoolConfig
    placement_timeout_s: float
    """Seconds that the cluster gets to find room for the bundles."""
    linger_s: float
    """Seconds after which engines that no ingress replica uses are closed."""
    log_level: str

    @property
    def supervisor(self) -> str:
        """Name of the actor that owns the rest."""
        return f"assay:{self.app}"

    def keeper(self, route_key: str) -> str:
        """Name of the actor that runs an instance."""
        return f"{self.supervisor}:{route_key}"

    def engine(self, route_key: str, replica: int) -> str:
        """Name of an actor that runs a replica; another one each time, as the one before may not have ended yet."""
        return f"{self.keeper(route_key)}:{replica}:{secrets.token_hex(4)}"

    def digest(self) -> str:
        """Equal for equal engines."""
        specs = [{**asdict(spec), "engine": spec.engine.model_dump(mode="json")} for spec in self.specs]
        return digest([specs, self.kind, self.options, self.pool.model_dump(mode="json")])

    def check(self) -> None:
        """Raises InputError for a setting that an engine refuses, before anything is started."""
        for spec in self.specs:
            if "gpu_ids" in {**self.options, **spec.engine.passed_through}:
                raise InputError(f"instance {spec.route_key!r}: gpu_ids cannot be chosen where Ray places the engines")
            instance_engine(spec, self.kind, self.options, first_gpu=0, processes=True, pool=self.pool, host=_nobody)

    def demands(self, *, with_gpus: bool) -> tuple[Demand, ...]:
        """What the instances ask of a cluster ``with_gpus`` or without any: there, engines that can run on a CPU do."""
        if self.kind == "openai":
            return ()
        return tuple(
            Demand(
                route_key=spec.route_key,
                engines=replicas(spec),
                gpus=spec.num_gpus_per_engine if spec.num_gpus and (with_gpus or self.kind == "sglang") else 0,
            )
            for spec in self.specs
        )


def _nobody(replica: int, options: dict[str, Any]) -> Engine:  # noqa: ARG001  a host of engines
    """An engine that stands for one which is not to be started."""
    return FakeEngine()
