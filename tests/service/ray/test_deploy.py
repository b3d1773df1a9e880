"""The example of ``deploy/`` is one that Ray Serve and Assay accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.core.errors import InputError
from assay.service.ray.spec import IngressSpec

from .cluster import RAYS_OWN

pytestmark = pytest.mark.filterwarnings(RAYS_OWN)

FILE = Path(__file__).parents[3] / "deploy" / "rayservice.yaml"


def serve_config() -> dict[str, Any]:
    return yaml.safe_load(yaml.safe_load(FILE.read_text())["spec"]["serveConfigV2"])


def test_the_example_is_accepted_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.serve.schema import ServeDeploySchema

    from assay.service.ray.deployment import build

    config = serve_config()
    schema = ServeDeploySchema.model_validate(config)
    [application] = schema.applications
    assert application.import_path == f"{build.__module__}:{build.__name__}"
    arguments = config["applications"][0]["args"]
    with pytest.raises(InputError, match="set an API key"):
        build(arguments)
    monkeypatch.setenv("ASSAY_API_KEY", "secret")
    build(arguments)
    # Serve's own host, port and prefix are those that the app is told.
    arguments["settings"]["api_key"] = "secret"
    spec = IngressSpec.load(arguments)
    assert application.route_prefix == spec.settings.prefix
    assert schema.http_options.host == spec.settings.host


def test_the_examples_engines_fit_its_nodes() -> None:
    arguments = serve_config()["applications"][0]["args"]
    estate = IngressSpec.load({**arguments, "settings": {}}).estate()
    estate.check()
    worker = yaml.safe_load(FILE.read_text())["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]
    gpus = int(worker["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
    assert sum(one.engines * one.gpus for one in estate.demands(with_gpus=True)) == gpus * worker["replicas"]
