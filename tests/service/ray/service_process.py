"""The service on Ray as a process of its own: ``python service_process.py PORT ADDRESS``."""

from __future__ import annotations

import sys

from assay.service.assemble import ServeConfig
from assay.service.ray.run import serve_on_ray
from assay.service.ray.settings import RaySettings
from assay.service.settings import ServiceSettings

INSTANCES = {"quality": {"model_path": "q", "num_gpus": 2}, "safety": {"model_path": "s", "num_gpus": 1}}

if __name__ == "__main__":
    serve_on_ray(
        ServeConfig.model_validate({"genrm": {"genrm_instances": INSTANCES}, "engine": "fake"}),
        ServiceSettings(port=int(sys.argv[1]), drain_s=5),
        RaySettings(address=sys.argv[2], app="process", log_level="warning"),
    )
