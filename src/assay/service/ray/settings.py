"""How the service is spread over a Ray cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assay.core.config import Config


class RaySettings(Config):
    """Settings of ``assay serve --ray``; how each replica listens and its limits stand in ``ServiceSettings``."""

    address: str | None = None
    """Address of a running cluster (``auto`` or ``host:port``); None starts one on this machine."""

    app: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")] = "assay"
    """Name of the application; two on one cluster need two names."""

    num_ingress: Annotated[int, Field(ge=1)] = 2
    """Ingress replicas: processes that run the app and share the engines."""

    ingress_cpus: Annotated[float, Field(ge=0)] = 0
    """CPUs that Ray sets aside for each ingress replica."""

    direct: bool = True
    """Each ingress replica also listens on a port of its own; ``GET /endpoints`` tells which."""

    num_gpus: Annotated[int, Field(ge=0)] | None = None
    """GPUs of the cluster that is started here; None counts those of this machine. More than there are is fine where
    engines run on the CPU: Ray then only counts."""

    placement_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds that the cluster gets to find room for the engines."""

    linger_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds after which engines that no ingress replica uses are closed."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much the actors' logs say."""
