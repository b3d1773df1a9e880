"""The frozen reference of the KL term, wherever its weights are: the policy's own, a copy, or a copy in main memory."""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import torch

from assay.core.errors import InputError

from .adapter import without_adapter
from .config import TrainerConfig
from .fused import lay_out
from .model import TokenModel
from .policy import Policy, load_reference
from .ranks import Ranks

Place = Literal["none", "adapter", "copy", "offload"]


class Reference:
    """Lends the model that reference log-probs are computed with. A copy is loaded when it is first lent.

    Args:
        policy: before it is trained or spread over ranks.
        config: ``reference`` and ``ref_load``.
        ranks: a copy is spread over them as the policy is.
    """

    def __init__(self, policy: Policy, config: TrainerConfig, ranks: Ranks) -> None:
        self.place = _place(config)
        self._policy, self._config, self._ranks = policy, config, ranks
        self._model: TokenModel | None = None
        if policy.source is None and config.ref_load is None and self.place in ("copy", "offload"):
            # A model given as an object is nowhere on disk: now is the last time that it is as it began.
            self._model = copy.deepcopy(policy.model).requires_grad_(False)
            self._spread(self._model)

    @contextmanager
    def lent(self) -> Generator[TokenModel]:
        """The model, on the device, for passes without gradient. InputError where there is to be none."""
        if self.place == "none":
            raise InputError("the loss needs a reference model and reference is 'none'; fix: reference auto, or no KL")
        if self.place == "adapter":
            with without_adapter(self._policy.lm):
                yield self._policy.model
            return
        if self._model is None:
            self._model = load_reference(self._config, device=self._policy.device)
            self._spread(self._model)
        self._model.to(self._policy.device)
        lay_out(self._model.lm)
        try:
            yield self._model
        finally:
            if self.place == "offload":
                self._model.to("cpu")

    def leave(self) -> None:
        """Off the device. The next ``lent`` brings it back."""
        if self._model is not None:
            self._model.to("cpu")

    def _spread(self, model: TokenModel) -> None:
        self._ranks.shard(model, self._policy.compute)
        if self.place == "offload":
            model.to("cpu")
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def _place(config: TrainerConfig) -> Place:
    if config.reference != "auto":
        return config.reference
    return "adapter" if config.lora_rank and config.ref_load in (None, config.hf_checkpoint) else "copy"
