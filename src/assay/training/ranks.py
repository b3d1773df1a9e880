"""The processes that train together: one, or a torch.distributed group with FSDP2 over all of its ranks.

Owns: how weights are spread and what ranks tell each other. Every rank is given the same batch and takes its share of
the micro-batches; the token weights are those of the whole batch, so gradients are added up, not averaged.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from .model import TokenModel

T = TypeVar("T")


class Ranks:
    """This process among those that train together; alone where torch.distributed was not initialised."""

    def __init__(self) -> None:
        self.together = dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if self.together else 0
        self.size = dist.get_world_size() if self.together else 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    @property
    def local(self) -> int:
        """The number of this rank on its machine: that of its device."""
        given = os.environ.get("LOCAL_RANK")
        return int(given) if given is not None else self.rank % max(1, torch.cuda.device_count())

    def gather(self, value: T) -> list[T]:
        """The value of every rank, on every rank. Values travel pickled: no tensors on a device."""
        if not self.together:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return cast("list[T]", values)

    def barrier(self) -> None:
        if self.together:
            self.gather(None)

    def shard(self, model: TokenModel, compute: torch.dtype) -> None:
        """Spread the weights over all ranks, layer by layer. Alone: nothing to do."""
        if not self.together:
            return
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

        half = compute == torch.bfloat16
        policy = MixedPrecisionPolicy(
            param_dtype=compute if half else None, reduce_dtype=torch.float32 if half else None
        )
        mesh = init_device_mesh(model.lm.device.type, (self.size,))
        for layer in _layers(model.lm):
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        for module in model.modules():
            if isinstance(module, FSDPModule):
                module.set_gradient_divide_factor(1.0)
                # A plain sum: for factors torch has an operation of NCCL's, which gloo lacks.
                module.set_force_sum_reduction_for_comms(True)


def whole(weight: Tensor) -> Tensor:
    """A weight, gathered from all ranks where it is spread (every rank must call). Never with a gradient."""
    weight = weight.detach()
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def _layers(lm: Any) -> list[nn.Module]:
    """The repeated blocks of the model, as its authors name them."""
    names = set(cast("list[str] | None", lm._no_split_modules) or ())
    return [module for module in lm.modules() if type(module).__name__ in names]
