"""All that an ingress replica needs to build itself, as plain data: nothing that is built travels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.engines.ray.estate import Estate

from ..assemble import ServeConfig
from ..settings import ServiceSettings
from .settings import RaySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressSpec:
    """A service on Ray, in three configurations."""

    config: ServeConfig
    settings: ServiceSettings
    ray: RaySettings

    def dump(self) -> dict[str, Any]:
        """JSON; the API key is in it, as the replicas have to know it."""
        key = self.settings.api_key
        settings = self.settings.model_dump(mode="json", exclude={"api_key"})
        if key is not None:
            settings["api_key"] = key.get_secret_value()
        return {
            "config": self.config.model_dump(mode="json"),
            "settings": settings,
            "ray": self.ray.model_dump(mode="json"),
        }

    @classmethod
    def load(cls, data: dict[str, Any]) -> IngressSpec:
        """As ``dump`` wrote it, or as a person did. Raises pydantic's ValidationError."""
        return cls(
            config=ServeConfig.model_validate(data["config"]),
            settings=ServiceSettings.model_validate(data.get("settings", {})),
            ray=RaySettings.model_validate(data.get("ray", {})),
        )

    def estate(self) -> Estate:
        """What the engines are made from."""
        config, ray = self.config, self.ray
        return Estate(
            app=ray.app,
            specs=tuple(config.genrm.specs().values()),
            kind=config.engine,
            options=config.engine_options,
            pool=config.pool,
            placement_timeout_s=ray.placement_timeout_s,
            linger_s=ray.linger_s,
            log_level=ray.log_level,
        )
