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
from assay.engines.embedded.weights import find_model
from assay.engines.feed import GROUP_ENVIRONMENT, WeightFeed
from assay.engines.instances import instance_engine
from assay.engines.pool.config import PoolConfig
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.placement.plans import Plan
from assay.scoring.policy import ScoringPolicy
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.gateway import Gateway
from assay.service.instance import Instance
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.wire.genrm import RULES_KEY, GenRMConfig, GenRMEngineConfig, InstanceSpec

from ..config import EngineConfig, TrainConfig
from ..feeding import TrainerFeed

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
    options = rollout_options(config)
    claim = None if plan is None else plan.claims.get("rollout")
    if engines.rollout_engine == "embedded" and (claim is None or len(claim.engines) <= 1):
        return _embedded(config, options)
    spec = InstanceSpec(
        route_key="rollout",
        model_path=policy_folder(config),
        num_gpus=0 if claim is None else len(claim.gpus),
        num_gpus_per_engine=config.rollout_num_gpus_per_engine,
        engine=_engine_config(config),
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
            genrm=_judges(config.settings(GenRMConfig), engines.genrm_engine),
            engine=engines.genrm_engine,
            engine_options=judge_options(config),
            policy=ScoringPolicy(reask=config.judge_reask),
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


def _judges(flags: GenRMConfig, kind: str) -> GenRMConfig:
    """The judges' flags. Shares of a card are for the planner too, and only SGLang takes memory by them."""
    if kind == "sglang":
        return flags
    own = _bare(flags.genrm_engine_config)
    instances = {
        key: one if one.engine_config is None else one.model_copy(update={"engine_config": _bare(one.engine_config)})
        for key, one in (flags.genrm_instances or {}).items()
    }
    return flags.model_copy(update={"genrm_engine_config": own, "genrm_instances": instances or None})


def _bare(config: GenRMEngineConfig) -> GenRMEngineConfig:
    return config.model_copy(update={"mem_fraction_static": None})


def rollout_options(config: TrainConfig) -> dict[str, Any]:
    """Of the rollout engine, as far as the flags say them."""
    options = _options(config, config.rollout_engine, config.rollout_engine_options)
    if config.rollout_engine != "sglang":
        return options
    attach = {} if config.rollout_attach is None else {"attach": config.rollout_attach}
    return _as_trained(config, {**options, **attach})


def policy_folder(config: TrainConfig) -> str:
    """The policy's folder. A server of its own knows folders and hub names; the bundled model's is found here."""
    return str(find_model(config.hf_checkpoint, with_code=config.trust_remote_code))


def judge_options(config: TrainConfig) -> dict[str, Any]:
    """Of every judge's engine, beside its model."""
    return _options(config, config.genrm_engine, config.genrm_engine_options)


def embedded_options(config: TrainConfig) -> dict[str, Any]:
    """Of the embedded engine that the policy answers with, but for what ``--rollout-engine-options`` says."""
    places = config.rollout_batch_size * config.n_samples_per_prompt
    return {
        "model": config.hf_checkpoint,
        "batch_invariant": config.batch_invariant,
        "max_batch": min(256, max(32, places)),
        "max_queue": max(1024, 2 * places),
        "trust_remote_code": config.trust_remote_code,
        "dtype": config.dtype,
        "device": config.device,
    }


def _embedded(config: TrainConfig, options: Mapping[str, Any]) -> Engine:
    from assay.engines.embedded.config import EmbeddedConfig
    from assay.engines.embedded.engine import EmbeddedEngine

    return EmbeddedEngine(EmbeddedConfig(**{**embedded_options(config), **options}))


def _engine_config(config: TrainConfig) -> GenRMEngineConfig:
    share = config.sglang_mem_fraction_static
    return GenRMEngineConfig() if share is None else GenRMEngineConfig(mem_fraction_static=share)


def _options(config: TrainConfig, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    python = {"python": config.sglang_python} if kind == "sglang" and config.sglang_python else {}
    return {**python, **options}


def _as_trained(config: TrainConfig, options: Mapping[str, Any]) -> dict[str, Any]:
    """SGLang would take the type that the checkpoint is stored in; the policy is computed in the trainer's."""
    dtype = "bfloat16" if config.dtype == "auto" else config.dtype
    said = dict(options.get("arguments") or {})
    return {**options, "arguments": {"dtype": dtype, **said}}
