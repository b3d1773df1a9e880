"""The judges that the flags of a run declare, as a service on a free port of this machine."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from assay.core.deadline import Deadline
from assay.engines.base import Engine, Tag
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.gateway import Gateway
from assay.service.instance import Instance
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.wire.genrm import RULES_KEY, GenRMConfig

from .config import EngineConfig, TrainConfig
from .engine_options import judge_options, judges_said

URL = "ASSAY_GENRM_URL"
"""Where reward functions of the user's find the judges (``get_genrm_client``)."""

_DRAIN_S = 120.0


class JudgeOnDuty:
    """``residency.Resident``: an instance of the judge service; it drains before it sleeps, and proves itself awake."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def sleep(self, tags: frozenset[Tag]) -> int:
        return await self._instance.offload(tags, Deadline.after(_DRAIN_S))

    async def wake(self, tags: frozenset[Tag]) -> int:
        return await self._instance.onload(tags)


@asynccontextmanager
async def judge_service(
    config: TrainConfig, built: Mapping[str, Engine] | None = None
) -> AsyncGenerator[tuple[dict[str, Scorer], dict[str, JudgeOnDuty]]]:
    """The judges that the flags declare, behind the service's routes; gives scorers and residents by route key.

    While it runs, ``ASSAY_GENRM_URL`` names it, so that reward functions of the user's reach it.

    Args:
        built: their engines by route key, where they live elsewhere; the service starts and closes them.

    Raises:
        StartError, InputError: a judge could not be started.
    """
    engines = config.settings(EngineConfig)
    hub = assemble(
        ServeConfig(
            genrm=judges_said(config.settings(GenRMConfig), engines.genrm_engine),
            engine=engines.genrm_engine,
            engine_options=judge_options(config),
            reask=config.judge_reask,
        ),
        built,
    )
    settings = ServiceSettings(port=0)
    app = create_app(hub, settings)
    before = os.environ.get(URL)
    async with running(app, settings) as url:
        os.environ[URL] = url
        gateway: Gateway = app.state.gateway
        scorers = dict(hub.instances) | ({} if hub.rules is None else {RULES_KEY: hub.rules})
        try:
            yield scorers, {key: JudgeOnDuty(instance) for key, instance in gateway.instances.items()}
        finally:
            if before is None:
                del os.environ[URL]
            else:
                os.environ[URL] = before
