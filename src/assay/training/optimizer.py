"""AdamW over the trained weights, its clipping, and its state on and off the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from .config import TrainerConfig
from .schedule import lr_at

MOMENTS = ("exp_avg", "exp_avg_sq")
COUNT = "step"


class Optimizer:
    """The optimizer of named weights.

    Args:
        trained: the weights, on their device, spread over ranks already.
        config: ``lr``, its schedule, ``weight_decay``, ``adam_*`` and ``clip_grad``.
    """

    def __init__(self, trained: Mapping[str, nn.Parameter], config: TrainerConfig) -> None:
        self._trained, self._config = dict(trained), config
        matrices = [p for p in trained.values() if p.ndim > 1]
        vectors = [p for p in trained.values() if p.ndim <= 1]
        groups = [(matrices, config.weight_decay), (vectors, 0.0)]
        self._adam = torch.optim.AdamW(
            [{"params": params, "weight_decay": decay} for params, decay in groups if params],
            lr=config.lr,
            betas=(config.adam_beta1, config.adam_beta2),
            eps=config.adam_eps,
            fused=True,
        )

    def update(self, lr: float) -> tuple[float, bool]:
        """Clip, apply an update at this rate and forget the gradient: its norm, and whether it was applied.

        A gradient that is not finite is dropped: it would leave no weight whole.
        """
        norm = nn.utils.clip_grad_norm_(self._trained.values(), self._config.clip_grad or float("inf"))
        norm = float(norm.full_tensor() if isinstance(norm, DTensor) else norm)
        applied = norm < float("inf")
        if applied:
            for group in self._adam.param_groups:
                group["lr"] = lr
            self._adam.step()
        self.forget_gradient()
        return norm, applied

    def forget_gradient(self) -> None:
        self._adam.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """The state by name: first moment, second moment and count of each weight; zeros where there is none yet.

        The tensors are those in use: what is written into them takes effect.
        """
        for p in self._trained.values():
            if not self._adam.state[p]:
                moments = {name: torch.zeros_like(p, memory_format=torch.preserve_format) for name in MOMENTS}
                self._adam.state[p] = {COUNT: torch.zeros((), dtype=torch.float32, device=p.device), **moments}
        return {
            f"{name}.{key}": cast("Tensor", self._adam.state[p][key])
            for name, p in self._trained.items()
            for key in (COUNT, *MOMENTS)
        }

    def move(self, device: torch.device) -> None:
        """The state to a device."""
        for state in self._adam.state.values():
            for key, value in state.items():
                state[key] = value.to(device)


def rate(config: TrainerConfig, number: int) -> float:
    """The learning rate of update ``number``, from 0."""
    return lr_at(
        number,
        lr=config.lr,
        minimum=config.min_lr,
        style=config.lr_decay_style,
        warmup=config.lr_warmup_iters,
        total=config.lr_decay_iters,
    )
