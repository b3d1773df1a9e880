"""What a run remembers from step to step, and what a checkpoint keeps of it beside weights and optimizer. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import InputError, TrainingStopped
from assay.core.types import Json

from .advantages.group import GroupAdvantages
from .rewards.budget import FailureBudget
from .rewards.failures import failed, judged
from .sample import Group

FORMAT = 1


@dataclass(slots=True, kw_only=True)
class Memory:
    """``step``: steps made. ``dead_steps``: the last so many steps had no group that teaches anything."""

    budget: FailureBudget = field(default_factory=FailureBudget)
    max_dead_steps: int = 10
    step: int = 0
    dead_steps: int = 0
    source: Json = None
    """The state of the source, after ``restore``."""

    def judged(self, groups: Sequence[Group]) -> None:
        """A batch was judged. Raises TrainingStopped: too many judgments failed."""
        samples = [sample for group in groups for sample in group.samples if judged(sample)]
        lost = [s.reward.failure for s in samples if s.reward is not None and s.reward.failure is not None]
        kinds = Counter(failure.kind for failure in lost).most_common(1)
        # Details differ from answer to answer: one of the most frequent kind stands for the others.
        most = next((f"{one.kind}: {one.detail:.400}" for one in lost if one.kind == kinds[0][0]), "")
        self.budget.add(sum(map(failed, samples)), len(samples), most)

    def learned(self, groups: Sequence[GroupAdvantages]) -> None:
        """Advantages were worked out. Raises TrainingStopped: for too many steps nothing could be learned."""
        alive = any(not group.stats.dead and any(group.trained) for group in groups)
        self.dead_steps = 0 if alive else self.dead_steps + 1
        if self.max_dead_steps and self.dead_steps >= self.max_dead_steps:
            raise TrainingStopped(
                f"in the last {self.dead_steps} steps every group had equal rewards (or too few of them), so nothing "
                "was learned: the task is too hard or too easy for the policy, or the judge always says the same; "
                "look at the samples, or raise --max-dead-steps"
            )

    def forgive(self) -> None:
        """The run stops: whoever goes on with it has mended what was wrong."""
        self.budget.seen.clear()
        self.dead_steps = 0

    def to_json(self, source: Json) -> dict[str, Json]:
        """For the checkpoint."""
        return {
            "format": FORMAT,
            "step": self.step,
            "dead_steps": self.dead_steps,
            "budget": [[failed, made] for failed, made in self.budget.seen],
            "source": source,
        }

    def restore(self, told: Any) -> None:
        """Take over what ``to_json`` wrote.

        Raises:
            InputError: the checkpoint has none of it, or is of another format.
        """
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise InputError("the checkpoint was not written by a training run of this version: it has no loop state")
        self.step, self.dead_steps = int(told["step"]), int(told["dead_steps"])
        self.budget.seen.clear()
        self.budget.seen.extend((int(failed), int(made)) for failed, made in told["budget"])
        self.source = told["source"]
