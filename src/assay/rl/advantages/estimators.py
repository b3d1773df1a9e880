"""The estimators by name (``--advantage-estimator``), each with the loss that its paper goes with.

| name | advantage | ratio of | tokens become one number by |
|---|---|---|---|
| ``grpo`` | by group, over its deviation | token | ``sequence_mean`` |
| ``gspo`` | the same | sequence | ``sequence_mean`` |
| ``dr_grpo`` | by group, deviation left alone | token | ``constant`` |
| ``rloo`` | against the others of the group | token | ``sequence_sum`` |
| ``reinforce_plus_plus`` | against the batch | token | ``token_mean`` |
| ``reinforce_plus_plus_baseline`` | by group, over the batch's deviation | token | ``token_mean`` |

The last two columns are defaults of the loss (``models.losses``), which a flag may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from assay.core.errors import InputError

from .dr_grpo import dr_grpo
from .group import GroupAdvantages, Reward
from .grpo import EPS, grpo
from .gspo import gspo
from .reinforce_plus_plus import reinforce_plus_plus
from .rloo import rloo
from .spread import Std

EstimatorName: TypeAlias = Literal[
    "grpo", "gspo", "dr_grpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvantageConfig:
    """How advantages are worked out; InputError for values that cannot be meant."""

    estimator: EstimatorName = "grpo"
    std: Std = "population"
    """Which deviation; without effect on ``dr_grpo`` and ``rloo``, which have none."""
    eps: float = EPS
    """Added to the deviation."""

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise InputError(f"no advantage estimator {self.estimator!r}: use one of {', '.join(ESTIMATORS)}")
        if self.std not in ("population", "sample"):
            raise InputError(f"std is {self.std!r}: use 'population' (divide by n) or 'sample' (by n - 1)")
        if not self.eps >= 0:
            raise InputError(f"eps is {self.eps!r}: it must not be negative")


Rewards: TypeAlias = "Sequence[Sequence[Reward]]"
Lengths: TypeAlias = "Sequence[Sequence[int]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """One way from the rewards of a batch to advantages, and the defaults of the loss that goes with it."""

    advantages: Callable[[Rewards, Lengths, AdvantageConfig], tuple[GroupAdvantages, ...]]
    level: Literal["token", "sequence"]
    aggregation: Literal["token_mean", "sequence_mean", "sequence_sum", "constant"]


def estimate(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:
    """The advantages of a batch: ``rewards[group][sample]``; ``lengths`` are trained tokens, of the same shape."""
    for place, (own, tokens) in enumerate(zip(rewards, lengths, strict=True)):
        if len(own) != len(tokens):
            raise InputError(f"group {place} has {len(own)} rewards for {len(tokens)} samples: return one for each")
    return ESTIMATORS[config.estimator].advantages(rewards, lengths, config)


def _grpo(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:  # noqa: ARG001
    return tuple(grpo(group, std=config.std, eps=config.eps) for group in rewards)


def _gspo(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:  # noqa: ARG001
    return tuple(gspo(group, std=config.std, eps=config.eps) for group in rewards)


def _dr_grpo(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:  # noqa: ARG001
    return tuple(dr_grpo(group) for group in rewards)


def _rloo(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:  # noqa: ARG001
    return tuple(rloo(group) for group in rewards)


def _plus_plus(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:
    return reinforce_plus_plus(rewards, lengths, std=config.std, eps=config.eps)


def _plus_plus_baseline(rewards: Rewards, lengths: Lengths, config: AdvantageConfig) -> tuple[GroupAdvantages, ...]:
    return reinforce_plus_plus(rewards, lengths, baseline=True, std=config.std, eps=config.eps)


ESTIMATORS: Mapping[EstimatorName, Estimator] = {
    "grpo": Estimator(advantages=_grpo, level="token", aggregation="sequence_mean"),
    "gspo": Estimator(advantages=_gspo, level="sequence", aggregation="sequence_mean"),
    "dr_grpo": Estimator(advantages=_dr_grpo, level="token", aggregation="constant"),
    "rloo": Estimator(advantages=_rloo, level="token", aggregation="sequence_sum"),
    "reinforce_plus_plus": Estimator(advantages=_plus_plus, level="token", aggregation="token_mean"),
    "reinforce_plus_plus_baseline": Estimator(advantages=_plus_plus_baseline, level="token", aggregation="token_mean"),
}
