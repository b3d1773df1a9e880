"""The engines beside a trainer of this process: the rollout's, and a judge service on a free port of this machine."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from assay.core.deadline import Deadline
from assay.core.types import SamplingParams
from assay.engines.base import Engine, Tag
from assay.engines.embedded.config import NO_ADAPTER
from assay.engines.feed import GROUP_ENVIRONMENT, WeightFeed
from assay.engines.instances import instance_engine
from assay.engines.pool.config import PoolConfig
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.placement.plans import Plan
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.gateway import Gateway
from assay.service.instance import Instance
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.wire.genrm import RULES_KEY, GenRMConfig, InstanceSpec

from ..config import EngineConfig, TrainConfig
from ..weights.feed import TrainerFeed
from .options import embedded_options, judge_options, judges_said, policy_folder, rollout_options, rollout_share

URL = "ASSAY_GENRM_URL"
"""Where reward functions of the user's find the judges (``get_genrm_client``)."""

_DRAIN_S = 120.0


def rollout_engine(config: TrainConfig, plan: Plan | None, feed: TrainerFeed | None = None) -> Engine:
    """The engine that the policy answers with, not started.

    Args:
        feed: what SGLang servers take weights from; None: folders.

    Raises:
        InputError: an option that it does not have.
    """
    engines = config.settings(EngineConfig)
    options: dict[str, Any] = rollout_options(config)
    claim = None if plan is None else plan.claims.get("rollout")
    if engines.rollout_engine == "embedded" and (claim is None or len(claim.engines) <= 1):
        return _embedded(config, options)
    spec = InstanceSpec(
        route_key="rollout",
        model_path=policy_folder(config),
        num_gpus=0 if claim is None else len(claim.gpus),
        num_gpus_per_engine=config.rollout_num_gpus_per_engine,
        engine=rollout_share(config),
        sampling=SamplingParams(),
    )
    if engines.rollout_engine == "embedded":
        # A policy is trained as it is; the adapter of the package is for judges.
        options = {"adapter": NO_ADAPTER, **options}
    host = None
    if feed is not None and engines.rollout_engine == "sglang":
        host = partial(fed_engine, feed)
        options = {**options, "env": {**GROUP_ENVIRONMENT, **options.get("env", {})}}
    first = claim.gpus[0] if claim is not None and claim.gpus else 0
    return instance_engine(
        spec, engines.rollout_engine, options, first_gpu=first, processes=False, pool=PoolConfig(), host=host
    )


def fed_engine(feed: WeightFeed, index: int, options: Mapping[str, Any]) -> Engine:  # noqa: ARG001 - any replica
    """An SGLang engine of these options that can take weights from a trainer."""
    own = {name: value for name, value in options.items() if name != "kind"}
    return SGLangEngine(SGLangConfig.model_validate(own), feed=feed)


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


def _embedded(config: TrainConfig, options: Mapping[str, Any]) -> Engine:
    from assay.engines.embedded.config import EmbeddedConfig
    from assay.engines.embedded.engine import EmbeddedEngine

    return EmbeddedEngine(EmbeddedConfig(**{**embedded_options(config), **options}))
