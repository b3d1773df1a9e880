"""The Ray Serve application: ingress replicas that build themselves from data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ray import serve
from starlette.types import ASGIApp

from assay.core.errors import InputError

from .spec import IngressSpec

if TYPE_CHECKING:
    from ray.serve import Application

_LOGGING = {"enable_access_log": False, "log_level": "WARNING"}


def application(spec: IngressSpec) -> Application:
    """The application of ``spec``. Deploying it again replaces the replicas one after the other."""
    data = spec.dump()
    settings, ray, instances = spec.settings, spec.ray, len(spec.config.genrm.specs())

    def build() -> ASGIApp:
        from assay.service.ray.ingress import build_ingress

        return build_ingress(data)

    declare: Any = serve.deployment
    deployment = declare(serve.ingress(build)()).options(
        name="ingress",
        num_replicas=ray.num_ingress,
        # Who runs and who waits is decided behind it, for each instance on its own.
        max_ongoing_requests=(settings.max_in_flight + settings.max_queue) * (instances + 1),
        ray_actor_options={"num_cpus": ray.ingress_cpus},
        graceful_shutdown_timeout_s=2.0 * settings.drain_s + 10.0,
        graceful_shutdown_wait_loop_s=0.5,
        health_check_period_s=2.0,
        health_check_timeout_s=10.0,
        logging_config=_LOGGING,
    )
    return deployment.bind()


def build(arguments: dict[str, Any]) -> Application:
    """The application from the ``args`` of a Serve config file (``import_path: assay.service.ray.deployment:build``).

    ``config``, ``settings`` and ``ray`` are the fields of ``ServeConfig``, ``ServiceSettings`` and ``RaySettings``.
    The API key may stay out of the file: ``ASSAY_API_KEY`` in the environment is taken where it is not in there.

    Raises:
        InputError: a setting is wrong or unknown.
    """
    import os

    from pydantic import ValidationError

    from assay.core.config import explain

    settings = dict(arguments.get("settings", {}))
    if "api_key" not in settings and (key := os.environ.get("ASSAY_API_KEY")):
        settings["api_key"] = key
    try:
        return application(IngressSpec.load({**arguments, "settings": settings}))
    except KeyError as error:
        raise InputError(f"args lack {error}: they need config, and may have settings and ray") from error
    except ValidationError as error:
        raise InputError(explain(error)) from error
