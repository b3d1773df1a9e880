"""The parts of a run on a Ray cluster, from its flags. The judges are served from this process, as without Ray."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from assay.core.errors import InputError
from assay.engines.ray.joining import connected
from assay.placement import PlacementPlan, parse_cluster
from assay.scoring.scorer import Scorer

from ..algorithm import AlgorithmConfig
from ..config import TrainConfig
from ..engine_options import embedded_options, judge_options, policy_folder, rollout_options
from ..judge_service import judge_service
from ..place import Place
from ..residency import EVERYTHING, Resident
from .build import ROLLOUT, ClusterParts, ClusterSettings, cluster_parts
from .engines import Recipe
from .rank_sends import SendOrders
from .trainer import Limits

PUBLISHED = "published"
"""Folder of a run through which weights go."""


@asynccontextmanager
async def on_ray(config: TrainConfig, plan: PlacementPlan | None) -> AsyncGenerator[Place]:
    """The parts; leaving ends their actors, and the cluster where it was started here.

    Raises:
        InputError, StartError: something cannot be; nothing was trained.
    """
    if plan is None or config.cluster is None:
        raise InputError("--ray places roles on GPUs: say --resource and --cluster as well")
    shape = parse_cluster(config.cluster)
    # Cards of the kind CPU are simulated: Ray is told that there are some.
    simulated = shape.size if shape.card.name == "CPU" else None
    async with AsyncExitStack() as stack:
        _say(f"Ray: {'a cluster of this machine starts' if config.ray_address is None else 'joining the cluster'}")
        # CPUs are only counted, and judges without a GPU have one each.
        stack.enter_context(connected(config.ray_address, num_gpus=simulated, bundles=len(plan.bundles)))
        parts = await stack.enter_async_context(cluster_parts(settings(config), plan, say=_say))
        scorers, judges = await _judges(config, parts, stack)
        yield Place(
            trainer=parts.trainer,
            extra=parts.state.extra,
            engine=parts.rollout,
            start_rollout=partial(parts.start_engines, [ROLLOUT]),
            judges=scorers,
            publisher=parts.publisher,
            phases=plan.phases,
            residents={**parts.residents, **judges},
            awake=parts.awake,
        )


def settings(config: TrainConfig) -> ClusterSettings:
    """What the flags say beside the plan."""
    limit = config.train_timeout_s
    match config.rollout_engine:
        case "embedded":
            own = embedded_options(config)
        case "sglang":
            own = {"model": policy_folder(config), "trust_remote_code": config.trust_remote_code}
        case "fake":
            own = {"model": f"fake {config.hf_checkpoint}"}
    return ClusterSettings(
        trainer=config.trainer(),
        published=config.run_dir / PUBLISHED,
        algorithm=config.settings(AlgorithmConfig),
        longest=config.rollout_max_response_len,
        rollout=Recipe(kind=config.rollout_engine, options={**own, **rollout_options(config)}),
        judge=Recipe(kind=config.genrm_engine, options=judge_options(config)),
        judges=config.specs(),
        weight_sync=config.weight_sync,
        sending=SendOrders(bucket_bytes=config.weight_bucket_mib << 20, limit_s=config.weight_sync_timeout_s),
        limits=Limits(start_s=config.start_timeout_s, train_s=limit, move_s=limit),
    )


async def _judges(
    config: TrainConfig, parts: ClusterParts, stack: AsyncExitStack
) -> tuple[Mapping[str, Scorer] | None, Mapping[str, Resident]]:
    """The judges, started behind the service, and asleep unless the first phase has them awake."""
    if not parts.judges:
        return None, {}
    scorers, judges = await stack.enter_async_context(judge_service(config, parts.judges))
    for key, judge in judges.items():
        if key not in parts.awake:
            await judge.sleep(EVERYTHING)
    return scorers, judges


def _say(line: str) -> None:
    """Starting takes minutes on a cluster: whoever waits sees what for."""
    print(line, file=sys.stderr, flush=True)
