"""What a function of the user's sees: the run's flags as ``args``, and samples with the attributes of Relax and slime.

Both are copies, so that a function written for those frameworks runs unchanged, and what it writes into them changes
nothing for anybody else: the metadata of a prompt are those of its whole group. One thing that they write is obeyed:
``remove_sample = True`` takes the sample out, like a judgment that failed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.types import Failure, FailureKind

from ..sample import PromptText, Reward, Sample, Status


class RunArgs:
    """The flags of a run, read-only: ``args.reward_key``, ``getattr(args, "rollout_top_p", 1.0)``, ``vars(args)``."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self.__dict__.update(flags)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"args is read-only: {name!r} cannot be set to {value!r:.80}")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the run has no flag {name!r}; it has {', '.join(sorted(vars(self))) or 'none'}")


@dataclass(kw_only=True)
class SeenSample:
    """A ``Sample`` for a function of the user's. ``prompt``: a text, or a list of role and content.

    ``reward``: what the reward function returned (a number, or a dict), None before and where it failed.
    """

    group_index: int
    index: int
    prompt: str | list[dict[str, Any]]
    label: str | None
    metadata: dict[str, Any]
    tokens: list[int]
    response: str
    response_length: int
    loss_mask: list[int]
    rollout_log_probs: list[float] | None
    weight_versions: list[str]
    status: Status
    reward: float | dict[str, Any] | None = None
    remove_sample: bool = False
    train_metadata: dict[str, Any] | None = None

    def get_reward_value(self, args: Any) -> Any:
        """The reward, or the entry of it that ``--reward-key`` names."""
        return self.reward[args.reward_key] if isinstance(self.reward, dict) and args.reward_key else self.reward

    @property
    def effective_response_length(self) -> int:
        """Tokens that the policy wrote."""
        return sum(self.loss_mask)


def kept(reward: Reward, shown: SeenSample, source: str) -> Reward:
    """The reward, or a failure where the function took the sample out."""
    if not shown.remove_sample:
        return reward
    failure = Failure(kind=FailureKind.CANCELLED, detail=f"{source} took the sample out (remove_sample)")
    return Reward(failure=failure, parts=reward.parts, judge=source)


def seen(sample: Sample) -> SeenSample:
    """The sample, copied."""
    return SeenSample(
        group_index=sample.group_index,
        index=sample.index,
        prompt=_prompt(sample.prompt),
        label=sample.label,
        metadata=copy.deepcopy(dict(sample.metadata)),
        tokens=list(sample.tokens),
        response=sample.response,
        response_length=sample.response_length,
        loss_mask=[int(written) for written in sample.loss_mask],
        rollout_log_probs=list(sample.rollout_log_probs) or None,
        weight_versions=list(sample.weight_versions),
        status=sample.status,
        reward=None if sample.reward is None else _reward(sample.reward),
    )


def _prompt(prompt: PromptText) -> str | list[dict[str, Any]]:
    if isinstance(prompt, str):
        return prompt
    return [{"role": turn.role, "content": copy.deepcopy(turn.content)} for turn in prompt]


def _reward(reward: Reward) -> float | dict[str, Any] | None:
    return dict(reward.parts) if reward.parts and reward.value is not None else reward.value
