"""The GenRM flags of the seeds as one validated configuration, and the instances that follow from it.

Owns names, defaults and checks (contracts, section 2). Does not own what an engine makes of its arguments: those that
are not named here pass through, and the engine refuses the ones that it does not know.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field, field_validator, model_validator

from assay.core.config import Config
from assay.core.types import SamplingParams

from .sampling import Positive, SamplingBody, to_sampling

log = logging.getLogger(__name__)

DEFAULT_KEY = "__default__"
"""Route key of the one instance that ``--genrm-model-path`` makes."""
RULES_KEY = "__rules__"
"""The name of the rule engine among instances; no route key can be it."""


class GenRMEngineConfig(Config):
    """``--genrm-engine-config``."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    max_context_len: Positive = 8192
    """Most tokens of prompt and reply together."""

    dp_size: Positive = 1
    pp_size: Positive = 1
    ep_size: Positive = 1
    mem_fraction_static: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of each card that the engine may take; not said = the engine's own default."""

    @property
    def passed_through(self) -> dict[str, Any]:
        """Arguments that are the engine's own business."""
        return dict(self.model_extra or {})


class InstanceConfig(Config):
    """One entry of ``--genrm-instances``."""

    model_path: Annotated[str, Field(min_length=1)]
    num_gpus: Annotated[int, Field(ge=0)]
    num_gpus_per_engine: Positive | None = None
    engine_config: GenRMEngineConfig | None = None
    sampling_config: SamplingBody | None = None

    @model_validator(mode="before")
    @classmethod
    def _required(cls, value: Any) -> Any:
        if isinstance(value, dict):
            for key in ("model_path", "num_gpus"):
                if key not in value:
                    raise ValueError(f"missing required key {key!r}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSpec:
    """One instance with every default filled in."""

    route_key: str
    model_path: str
    num_gpus: int
    num_gpus_per_engine: int
    engine: GenRMEngineConfig
    sampling: SamplingParams
    """As the user said it; the scorer fills in the rest, which for votes is not the same as for plain judgments."""


class GenRMConfig(Config):
    """The ``--genrm-*`` flags, under the same names."""

    genrm_model_path: str | None = None
    """The judge model; makes the one instance ``__default__``."""

    genrm_num_gpus: Annotated[int, Field(ge=0)] | None = None
    """GPUs of the one judge in all; not said = 1, or what a plan of resources says."""

    genrm_num_gpus_per_engine: Positive = 1
    """GPUs of one judge engine."""

    genrm_engine_config: GenRMEngineConfig = GenRMEngineConfig()
    """JSON: max_context_len, dp_size, pp_size, ep_size, mem_fraction_static, and arguments of the engine."""

    genrm_sampling_config: SamplingBody = SamplingBody()
    """JSON: temperature, top_p, top_k, max_response_len, chat_template_kwargs."""

    genrm_instances: dict[str, InstanceConfig] | None = None
    """``{route_key: {...}}``: several judges in one service; wins over ``genrm_model_path``."""

    @field_validator("genrm_instances")
    @classmethod
    def _keys(cls, instances: dict[str, InstanceConfig] | None) -> dict[str, InstanceConfig] | None:
        if instances is None:
            return None
        if not instances:
            raise ValueError("no instance in it; name one or leave it out")
        for key in instances:
            if key.startswith("__") or not key:
                raise ValueError(f"{key!r} cannot be a route key; choose another name")
        return instances

    @model_validator(mode="after")
    def _consistent(self) -> GenRMConfig:
        for spec in self.specs().values():
            if spec.num_gpus % spec.num_gpus_per_engine:
                raise ValueError(
                    f"instance {spec.route_key!r}: num_gpus={spec.num_gpus} does not divide by "
                    f"num_gpus_per_engine={spec.num_gpus_per_engine}"
                )
        if self.genrm_instances is not None and self.genrm_model_path is not None:
            log.warning("genrm_model_path=%r is ignored, because genrm_instances is set", self.genrm_model_path)
        return self

    def specs(self) -> dict[str, InstanceSpec]:
        """The instances, in declaration order; empty when no judge is configured."""
        if self.genrm_instances is not None:
            return {key: self._named(key, instance) for key, instance in self.genrm_instances.items()}
        return {} if self.genrm_model_path is None else {DEFAULT_KEY: self._default(self.genrm_model_path)}

    def _default(self, model_path: str) -> InstanceSpec:
        return InstanceSpec(
            route_key=DEFAULT_KEY,
            model_path=model_path,
            num_gpus=1 if self.genrm_num_gpus is None else self.genrm_num_gpus,
            num_gpus_per_engine=self.genrm_num_gpus_per_engine,
            engine=self.genrm_engine_config,
            sampling=to_sampling(self.genrm_sampling_config),
        )

    def _named(self, key: str, instance: InstanceConfig) -> InstanceSpec:
        return InstanceSpec(
            route_key=key,
            model_path=instance.model_path,
            num_gpus=instance.num_gpus,
            num_gpus_per_engine=instance.num_gpus_per_engine or self.genrm_num_gpus_per_engine,
            engine=instance.engine_config or self.genrm_engine_config,
            sampling=to_sampling(instance.sampling_config or self.genrm_sampling_config),
        )
