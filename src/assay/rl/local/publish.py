"""Weights from the trainer of this process to its rollout engines: which way, the feed if one is needed, the publisher.

Owns: the facts of this process, and copies within it. Does not own: the ways (``rl.weights``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError
from assay.engines.base import Engine, TensorUpdatable, Updatable
from assay.engines.visible import gpu_names
from assay.placement.plans import PlacementPlan

from ..config import TrainConfig
from ..engine_options import policy_folder, rollout_options
from ..ports import Published, Publisher
from ..weights.checkpoint import engine_dtype, splits, stored_otherwise
from ..weights.feed import TrainerFeed
from ..weights.publish import ThroughFeed, ThroughFolder
from ..weights.way import Way, WayFacts, pick_way
from .sender import LocalSender
from .trainer import LocalTrainer

if TYPE_CHECKING:
    from assay.training.trainer import Trainer

log = logging.getLogger(__name__)


class InProcess:
    """``ports.Publisher`` that copies tensors into engines of this process."""

    def __init__(self, trainer: LocalTrainer, engines: Sequence[TensorUpdatable]) -> None:
        self._trainer = trainer
        self._engines = engines

    async def publish(self) -> Published:
        begin, version = time.perf_counter(), self._trainer.weight_version
        # A copy: the trainer may go on while engines read. Engines take them in their own threads.
        tensors = await self._trainer.work(self._copies)
        taken = await asyncio.gather(*(engine.update_tensors(tensors, version) for engine in self._engines))
        return Published(version=version, bytes=sum(taken), seconds=time.perf_counter() - begin)

    def _copies(self) -> list[tuple[str, object]]:
        return [(name, tensor.detach().clone()) for name, tensor in self._trainer.inner.named_tensors()]


def local_way(config: TrainConfig, plan: PlacementPlan | None, trainer: Trainer | None) -> Way:
    """The way that the flags ask for. Reads the headers of the model's files.

    Args:
        trainer: only SGLang's ways depend on its weights and cards; None before it is loaded, for other engines.

    Raises:
        InputError: it cannot be; see ``way.pick_way``.
    """
    if config.rollout_attach is not None:
        # What its server was launched with is not known here, so nothing is sent to it from card to card.
        return pick_way(
            "disk" if config.weight_sync == "auto" else config.weight_sync, WayFacts(engine="sglang", ray=False)
        )
    options = rollout_options(config)
    claim = None if plan is None else plan.claims.get("rollout")
    sglang = config.rollout_engine == "sglang"
    facts = WayFacts(
        engine=config.rollout_engine,
        ray=False,
        in_process=config.rollout_engine == "embedded" and (claim is None or len(claim.engines) <= 1),
        ranks=trainer_cards(trainer) if sglang and trainer is not None else (),
        engines=_engine_cards(config, plan, options),
        parallel=splits(options),
        stored_otherwise=None if not sglang or trainer is None else _stored_otherwise(config, trainer),
    )
    return pick_way(config.weight_sync, facts)


async def sent_weights(
    config: TrainConfig, trainer: LocalTrainer, way: Way, stack: AsyncExitStack
) -> TrainerFeed | None:
    """The feed of SGLang engines; None where weights go another way. The stack gives up its groups."""
    if config.rollout_engine != "sglang" or way not in ("tensor", "nccl"):
        return None
    from assay.training.dispatch import Dispatch

    dispatch = Dispatch(
        trainer.inner,
        dtype=engine_dtype(rollout_options(config)),
        bucket_bytes=config.weight_bucket_mib << 20,
        limit_s=config.weight_sync_timeout_s,
    )
    sender = LocalSender(trainer, dispatch)
    stack.push_async_callback(sender.close)
    log.info("weights go to SGLang by %s, in buckets of %d MiB", way, config.weight_bucket_mib)
    return TrainerFeed(sender, way)


def local_publisher(trainer: LocalTrainer, engine: Engine, feed: TrainerFeed | None, config: TrainConfig) -> Publisher:
    """What publishes to the rollout engine. Raises InputError: it cannot take new weights."""
    if feed is not None and isinstance(engine, Updatable):
        return ThroughFeed(trainer, [engine], feed)
    if isinstance(engine, TensorUpdatable) and config.weight_sync != "disk":
        return InProcess(trainer, [engine])
    if isinstance(engine, Updatable):
        return ThroughFolder(trainer, [engine], config.run_dir / "published")
    raise InputError(f"the rollout engine {engine.info.model!r} cannot take new weights, so it cannot be trained with")


def trainer_cards(trainer: Trainer) -> tuple[frozenset[str], ...]:
    """The names of its one card: the number that ``nvidia-smi`` gives it, and its UUID; none on the CPU."""
    device = trainer.policy.device
    if device.type != "cuda":
        return ()
    import torch

    index = device.index or 0
    visible = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    uuid = str(torch.cuda.get_device_properties(device).uuid).removeprefix("GPU-")
    return (frozenset({visible[index] if index < len(visible) else str(index), f"GPU-{uuid}"}),)


def _stored_otherwise(config: TrainConfig, trainer: Trainer) -> str | None:
    return stored_otherwise(policy_folder(config), trainer.outline())


def _engine_cards(
    config: TrainConfig, plan: PlacementPlan | None, options: Mapping[str, Any]
) -> tuple[tuple[str, ...], ...]:
    """The cards of every rollout engine, by the numbers that ``nvidia-smi`` gives them."""
    if (named := options.get("gpu_ids")) is not None:
        return (tuple(str(one) for one in named),)
    claim = None if plan is None else plan.claims.get("rollout")
    if claim is None or not claim.engines:
        return (_names(range(config.rollout_num_gpus_per_engine)),)
    return tuple(_names(engine) for engine in claim.engines)


def _names(gpus: Sequence[int]) -> tuple[str, ...]:
    return tuple(map(str, gpu_names(gpus)))
