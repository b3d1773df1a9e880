"""The trainer: log-probs, steps, checkpoints, and weights for engines. It knows packed samples, no rollouts or rewards.

With torch.distributed initialised, every rank holds one and all call the same methods with the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from assay.core.errors import AssayError, InputError
from assay.core.seeds import digest
from assay.core.types import Json

from . import checkpoint, export
from .batch import PerToken, StepMetrics, TrainBatch, TrainSequence, UpdateMetrics
from .clock import Clock
from .config import TrainerConfig
from .forward import LaidOut, Passes, Update
from .fused import lay_out
from .objective import Objective
from .optimizer import Optimizer, rate
from .policy import Policy, load_policy, pick_device
from .ranks import Ranks
from .reference import Reference

_WEIGHTS, _OPTIMIZER = "model.", "optimizer."

MakePolicy: TypeAlias = "Callable[[TrainerConfig, torch.device], Policy]"


class Trainer:
    """See the module.

    Args:
        config: the settings; ``load`` is obeyed, ``save_interval`` is the loop's business.
        model: a transformers causal language model to train instead of ``hf_checkpoint``.
        policy: makes what is trained, for models that are no causal language model (``heads``).
        enter: told each stage of the making, as it begins.

    Raises:
        InputError, StartError: a model or checkpoint is absent or unfit.
    """

    def __init__(
        self,
        config: TrainerConfig,
        *,
        model: Any = None,
        policy: MakePolicy | None = None,
        enter: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.config = config
        self.ranks = Ranks()
        device = pick_device(config, self.ranks.local)
        if device.type == "cuda":
            torch.cuda.set_device(device)
        enter("model")
        made = load_policy(config, model=model, device=device) if policy is None else policy(config, device)
        self.policy: Policy = made
        self._reference = Reference(self.policy, config, self.ranks)
        enter("sharding")
        self.ranks.shard(self.policy.model, self.policy.compute)
        self._optimizer = Optimizer(self.policy.trained, config)
        self._passes = Passes(self.policy, config, self.ranks)
        self.updates = 0
        """Applied since training began."""
        self.asleep = False
        self.extra: Json = None
        """What the loop gave to ``save``, after a ``load``."""
        self._run = digest([self.policy.base_version, config.model_dump(mode="json", exclude={"save", "load"})])[:8]
        enter("checkpoint")
        if config.load is None:
            checkpoint.begin_random(config.seed, self.ranks)
        else:
            self.load(Path(config.load))

    @property
    def weight_version(self) -> str:
        """Names the weights: the run, and the updates applied. Sorts by age within a run; no wall clock in it."""
        return f"{self._run}.{self.updates:08d}"

    def logprobs(
        self, sequences: Sequence[TrainSequence], which: Literal["actor", "reference"] = "actor"
    ) -> list[PerToken]:
        """The log-probs of every response token of every sequence, masked or not."""
        self._must_be_awake()
        if which == "actor":
            return self._passes.logprobs(self.policy.model, sequences)
        with self._reference.lent() as model:
            return self._passes.logprobs(model, sequences)

    def lay_out(self, batch: TrainBatch, objective: Objective) -> LaidOut:
        """The work of a step that is one update and needs no other log-probs, done ahead: also from another thread."""
        return self._passes.laid_out(batch.sequences, objective)

    def step(
        self, batch: TrainBatch, objective: Objective, *, lr: float | None = None, laid: LaidOut | None = None
    ) -> StepMetrics:
        """Train on a rollout batch: one or several updates (``global_batch_size``).

        Old log-probs that the batch lacks are taken from the first update's own pass; only later updates, whose
        policy has moved by then, cost a pass for them.

        Args:
            lr: the learning rate, where it does not follow from the number of the update (``lr_decay_style``).
            laid: what ``lay_out`` made of this batch.
        """
        self._must_be_awake()
        clock = Clock(self.policy.device)
        updates = batch.updates(self.config.global_batch_size)
        if objective.needs_reference:
            with clock.phase("reference"):
                updates = self._filled(updates, "reference_logprobs", "reference")
        if objective.needs_old:
            with clock.phase("old_logprobs"):
                whole = any(s.old_logprobs is not None for s in updates[0])
                first = self._filled(updates[:1], "old_logprobs", "actor") if whole else updates[:1]
                updates = first + self._filled(updates[1:], "old_logprobs", "actor")
        done = tuple(self._update(sequences, objective, clock, lr, laid) for sequences in updates)
        return StepMetrics(step=self.updates, weight_version=self.weight_version, updates=done, seconds=clock.seconds)

    def save(self, root: Path | None = None, *, extra: Json = None) -> Path:
        """Save a checkpoint under ``root`` (None: ``config.save``), with ``extra`` for the loop; returns its folder.

        Raises:
            OutputError: the disk is full or not writable; earlier checkpoints are untouched.
        """
        root = root or (Path(self.config.save) if self.config.save else None)
        if root is None:
            raise InputError("nowhere to save: give a folder, or set save")
        state = checkpoint.State(
            step=self.updates,
            run=self._run,
            base_version=self.policy.base_version,
            trained=self._trained(),
            extra=extra,
        )
        return checkpoint.write(root, self._tensors(), state, self.ranks, keep=self.config.keep_checkpoints)

    def load(self, path: Path) -> Json:
        """Go on from a checkpoint, or from the last one in a folder; returns the loop's ``extra``."""
        self._must_be_awake()
        state = checkpoint.read(path, self._tensors(), self.ranks, trained=self._trained())
        if self.config.lora_rank and state.base_version != self.policy.base_version:
            raise InputError(
                f"checkpoint {str(path)!r} is an adapter of weights {state.base_version}, and hf_checkpoint holds "
                f"{self.policy.base_version}: it was trained on another model"
            )
        self.updates, self._run, self.extra = state.step, state.run, state.extra
        return state.extra

    def sleep(self) -> None:
        """Weights and optimizer state off the device. On the CPU nothing moves. Asleep already: nothing happens."""
        if not self.asleep:
            self._optimizer.forget_gradient()
            self._move(torch.device("cpu"))
            self._reference.leave()
            if self.policy.device.type == "cuda":
                torch.cuda.empty_cache()
            self.asleep = True

    def wake(self) -> None:
        """Back onto the device."""
        if self.asleep:
            self._move(self.policy.device)
            lay_out(self.policy.lm)
            self.asleep = False

    def named_tensors(
        self, *, dtype: torch.dtype | None = None, device: torch.device | None = None
    ) -> Iterator[tuple[str, Tensor]]:
        """See ``export.named_tensors``. Of ``weight_version``; also while asleep, then from main memory."""
        return export.named_tensors(self.policy, dtype=dtype, device=device)

    def gathered(self) -> Iterator[export.Gathered]:
        """See ``export.gathered``."""
        return export.gathered(self.policy)

    def outline(self) -> dict[str, tuple[int, ...]]:
        """See ``export.outline``."""
        return export.outline(self.policy)

    def export(self, folder: Path, *, dtype: torch.dtype | None = None) -> None:
        """See ``export.export``."""
        export.export(self.policy, folder, self.ranks, dtype=dtype)

    def export_adapter(self, folder: Path, *, dtype: torch.dtype | None = None) -> None:
        """See ``export.export_adapter``."""
        export.export_adapter(self.policy, folder, self.ranks, base=self.config.hf_checkpoint, dtype=dtype)

    def _update(
        self,
        sequences: Sequence[TrainSequence],
        objective: Objective,
        clock: Clock,
        lr: float | None,
        laid: LaidOut | None,
    ) -> UpdateMetrics:
        laid = self._passes.laid_out(sequences, objective) if laid is None else laid
        update: Update = self._passes.forward_backward(laid, objective, clock)
        lr = rate(self.config, self.updates) if lr is None else lr
        with clock.phase("optimizer"):
            norm, applied = self._optimizer.update(lr)
        self.updates += applied
        return UpdateMetrics(
            loss=update.loss,
            grad_norm=norm,
            lr=lr,
            samples=len(sequences),
            loss_tokens=update.loss_tokens,
            packed_tokens=update.packed_tokens,
            micro_batches=update.micro_batches,
            applied=applied,
            terms=update.terms,
        )

    def _filled(
        self,
        updates: list[tuple[TrainSequence, ...]],
        name: Literal["old_logprobs", "reference_logprobs"],
        which: Literal["actor", "reference"],
    ) -> list[tuple[TrainSequence, ...]]:
        """The same sequences, with the log-probs that they lack."""
        lacking = [s for update in updates for s in update if getattr(s, name) is None]
        found = iter(self.logprobs(lacking, which) if lacking else [])
        return [
            tuple(s if getattr(s, name) is not None else replace(s, **{name: next(found)}) for s in update)
            for update in updates
        ]

    def _tensors(self) -> dict[str, Tensor]:
        """Everything that changes by training, in use."""
        weights = {_WEIGHTS + name: p.detach() for name, p in self.policy.trained.items()}
        return weights | {_OPTIMIZER + name: t for name, t in self._optimizer.state().items()}

    def _trained(self) -> str:
        return digest({name: list(p.shape) for name, p in self.policy.trained.items()})

    def _move(self, device: torch.device) -> None:
        if self.policy.device.type != "cpu":
            self.policy.model.to(device)
            self._optimizer.move(device)

    def _must_be_awake(self) -> None:
        if self.asleep:
            raise AssayError("the trainer is asleep: call wake() first")
