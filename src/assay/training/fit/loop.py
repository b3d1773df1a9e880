"""The loop of a fit: update, measure, write the line, save. A kill at any moment costs the updates since the last save.

The checkpoint comes last, behind its records, as in ``rl.loop``: a resumed run cuts the lines of the updates that it
makes again. Examples and rates follow from the number of the update, so it makes the very same updates; with
``minutes`` the rate follows a clock, and only the order of the examples is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from assay.core.errors import InputError, TrainingStopped
from assay.core.types import Json
from assay.tracking.lines import BASELINE
from assay.tracking.log import MetricLog

from ..batch import TrainBatch
from ..forward import LaidOut
from ..measures import of_update
from ..objective import Objective
from ..saving import Saves
from ..trainer import Trainer
from .ahead import Ahead
from .config import FitConfig
from .length import Length, passes
from .order import Order
from .task import Task

HELD_OUT = "held_out"
"""The name of the held-out set among the metrics (``eval/held_out/loss``)."""
MOST_SKIPPED = 20
"""So many updates in a row without a finite gradient end the run."""

Tell: TypeAlias = "Callable[[int, Mapping[str, float]], None]"
"""Told every update that was made (-1 for what was measured before the first) and its metrics."""


@dataclass(slots=True, kw_only=True)
class FitState:
    """What a checkpoint remembers beside weights and optimizer. ``seconds``: of training, over all calls."""

    made: int = 0
    seconds: float = 0.0
    skipped: int = 0
    """The last so many updates were not applied: their gradient was not finite."""
    identity: str = ""
    """Of the examples."""


@dataclass(slots=True, kw_only=True)
class FitResult:
    """What came of it, filled while it goes. ``done``: to the end, not to the end of this call.

    ``running``: whether it makes updates: from then on it can be asked to leave. ``saved``: updates that are in the
    last checkpoint; None before the first.
    """

    updates: int = 0
    total: int | None = None
    done: bool = False
    running: bool = False
    saved: int | None = None
    last: Mapping[str, float] = field(default_factory=dict[str, float])


class Fit:
    """One fit. Every rank has one; ``log`` and ``tell`` are the first rank's."""

    def __init__(
        self,
        task: Task,
        trainer: Trainer,
        config: FitConfig,
        result: FitResult,
        *,
        open_log: Callable[[int], MetricLog] | None,
        tell: Tell | None = None,
        leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self._task, self._trainer, self._config, self._tell = task, trainer, config, tell
        self.state = _restored(trainer.extra, task)
        epochs = passes(config)
        self._order = Order(task.size, config.global_batch_size, seed=config.seed, epochs=epochs)
        self.length = Length.of(config, self._order.updates)
        last = self.length.updates
        # On a CPU the thread would only take time from the update.
        ahead = trainer.policy.device.type == "cuda"
        self._ahead = Ahead(self._examples, lambda number: last is None or number < last, begin=ahead)
        self._log = None if open_log is None else open_log(self.state.made)
        self._leaving, self._saves = leaving, Saves(config)
        self.result = result
        result.updates, result.total = self.state.made, self.length.updates
        result.saved = None if trainer.extra is None else self.state.made
        self._began = time.monotonic()
        self._before = self.state.seconds

    def run(self) -> None:
        """Make the updates that are left, or those that this call has time for, or until it is to leave; save.

        Raises:
            TrainingStopped: gradients are not finite. OutputError: a result could not be written.
        """
        try:
            self.result.running = True
            if self.state.made == 0:
                self._baseline()
            began, leave = self.state.made, False
            while not (leave or self._over() or self._call_is_over()):
                self._update()
                leave, due = self._asked()
                if due:
                    self._save()
            saved = began if self._saves.made is None else self._saves.made
            if saved < self.state.made or not self._config.checkpoints.exists():
                self._save()
            self.result.done = self._over()
        finally:
            self._ahead.close()
            if self._log is not None:
                self._log.close()

    def _examples(self, number: int) -> tuple[TrainBatch, Objective, LaidOut]:
        batch, objective = self._task.batch(self._order.batch(number))
        return batch, objective, self._trainer.lay_out(batch, objective)

    def _baseline(self) -> None:
        found = self._measured()
        # A run that was killed before its first checkpoint has this line already.
        if found and (self._log is None or self._log.lines.last() is None):
            self._write(BASELINE, found)

    def _update(self) -> None:
        number, begin = self.state.made, time.perf_counter()
        batch, objective, laid = self._ahead.take(number)
        done = self._trainer.step(batch, objective, lr=self.length.lr(number, self.state.seconds), laid=laid)
        metrics = of_update(done) | {"time/train": time.perf_counter() - begin}
        metrics["train/epoch"] = min((number + 1) * self._config.global_batch_size / self._task.size, 1e9)
        self.state.made = number + 1
        self.state.skipped = 0 if done.updates[0].applied else self.state.skipped + 1
        self.state.seconds = self._seconds()
        if self._due(self._config.eval_interval) or self._over():
            metrics |= self._measured()
        metrics["time/step"] = time.perf_counter() - begin
        self._write(number, metrics)
        self.result.updates, self.result.last = self.state.made, metrics
        if self.state.skipped >= MOST_SKIPPED:
            raise TrainingStopped(
                f"the gradients of the last {self.state.skipped} updates were not finite; nothing was learned: lower "
                "lr, or look for broken examples; the last checkpoint is older"
            )

    def _measured(self) -> dict[str, float]:
        begin = time.perf_counter()
        found = {f"eval/{HELD_OUT}/{name}": value for name, value in self._task.evaluate(self._trainer).items()}
        return found | ({"time/eval": time.perf_counter() - begin} if found else {})

    def _write(self, step: int, metrics: Mapping[str, float]) -> None:
        if self._log is not None:
            self._log.write(step, metrics)
        if self._tell is not None:
            self._tell(step, metrics)

    def _save(self) -> None:
        state = self.state
        told: Json = {"fit": state.made, "seconds": state.seconds, "skipped": state.skipped, "identity": state.identity}
        with self._saves.saving(state.made):
            self._trainer.save(extra=told)
        self.result.saved = state.made

    def _asked(self) -> tuple[bool, bool]:
        """Whether to leave, as any rank was asked to, and whether a checkpoint is due, by the first rank's clock."""
        told = self._trainer.ranks.gather((self._leaving(), self._saves.due(self.state.made)))
        return any(leave for leave, _ in told), told[0][1]

    def _due(self, interval: int | None) -> bool:
        return interval is not None and self.state.made % interval == 0

    def _over(self) -> bool:
        return self.length.over(self.state.made, self.state.seconds)

    def _call_is_over(self) -> bool:
        most = self._config.stop_after_minutes
        return most is not None and self.state.seconds - self._before >= 60 * most

    def _seconds(self) -> float:
        """Of training; the first rank's clock counts for all where it decides anything."""
        spent = self._before + time.monotonic() - self._began
        if self._config.minutes is None and self._config.stop_after_minutes is None:
            return spent
        return self._trainer.ranks.gather(spent)[0]


def _restored(extra: Any, task: Task) -> FitState:
    """Raises InputError: the checkpoint is of other examples, or not of a fit."""
    if extra is None:
        return FitState(identity=task.identity)
    if not isinstance(extra, dict) or "fit" not in extra:
        raise InputError("the checkpoint was not written by a fit (assay sft, assay rm); name another --run-dir")
    if extra["identity"] != task.identity:
        raise InputError(
            "the data is not what this run began with (rows, their order, the tokenizer or the chat template changed): "
            "restore it, or begin anew in another --run-dir"
        )
    return FitState(
        made=int(extra["fit"]),
        seconds=float(extra["seconds"]),
        skipped=int(extra["skipped"]),
        identity=task.identity,
    )
