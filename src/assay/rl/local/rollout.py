"""The rollout engine beside a trainer of this process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from assay.core.types import SamplingParams
from assay.engines.base import Engine
from assay.engines.embedded.config import NO_ADAPTER
from assay.engines.feed import GROUP_ENVIRONMENT, WeightFeed
from assay.engines.instances import instance_engine
from assay.engines.pool.config import PoolConfig
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.engine import SGLangEngine
from assay.placement.plans import PlacementPlan
from assay.wire.genrm import InstanceSpec

from ..config import EngineConfig, TrainConfig
from ..engine_options import embedded_options, policy_folder, rollout_options, rollout_share
from ..weights.feed import TrainerFeed


def rollout_engine(config: TrainConfig, plan: PlacementPlan | None, feed: TrainerFeed | None = None) -> Engine:
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


def _embedded(config: TrainConfig, options: Mapping[str, Any]) -> Engine:
    from assay.engines.embedded.config import EmbeddedConfig
    from assay.engines.embedded.engine import EmbeddedEngine

    return EmbeddedEngine(EmbeddedConfig(**{**embedded_options(config), **options}))
