"""The settings of the algorithm, named as slime's and Relax's flags, and the parts of the step that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from assay.core.config import Config

from .advantages.estimators import ESTIMATORS, AdvantageConfig, EstimatorName
from .advantages.overlong import OverlongShaping
from .advantages.spread import Std
from .advantages.truncated import parse_truncated_as
from .batching import BatchingConfig

if TYPE_CHECKING:
    from assay.training.objective import PolicyObjective


class AlgorithmConfig(Config):
    """How rewards become advantages, and advantages a loss."""

    advantage_estimator: EstimatorName = "grpo"
    """How samples of a group are compared."""
    advantage_std: Std = "population"
    """The deviation that GRPO divides by: population (over n) or sample (over n - 1)."""
    eps_clip: float = Field(default=0.2, gt=0, lt=1)
    """How far the importance ratio counts below 1."""
    eps_clip_high: float | None = Field(default=None, gt=0)
    """How far above 1; as far as below unless said."""
    eps_clip_c: float | None = None
    """Dual clip: most that a bad token's loss may grow with its ratio."""
    use_kl_loss: bool = False
    """Add the KL to the reference to the loss."""
    kl_loss_coef: float = Field(default=0.0, ge=0)
    """Its weight; at 0 the KL is measured at every step, and changes nothing."""
    kl_loss_type: Literal["k1", "k2", "k3", "low_var_kl"] = "low_var_kl"
    """Its estimator."""
    kl_coef: float = Field(default=0.0, ge=0)
    """Weight of the KL to the reference in the reward."""
    use_tis: bool = False
    """Weigh tokens by how much more probable they are for the trainer than for the rollout engine, truncated."""
    tis_clip: float = Field(default=2.0, gt=0)
    """Where that weight is truncated."""
    entropy_coef: float = Field(default=0.0, ge=0)
    """How much of the entropy is taken off the loss."""
    loss_aggregation: Literal["token_mean", "sequence_mean", "sequence_sum", "constant"] | None = None
    """How tokens become one loss; the estimator's own way unless said."""
    truncated_as: str = "keep"
    """What a cut-off answer earns: keep (what the judge says), mask (left out), or a number."""
    overlong_buffer_len: int | None = Field(default=None, ge=1)
    """Tokens before the length limit over which an answer's reward falls."""
    overlong_penalty_factor: float = Field(default=1.0, ge=0)
    """How far it falls."""
    max_dead_steps: int = Field(default=10, ge=0)
    """Stop after so many steps in a row from which nothing could be learned; 0 never stops."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kl_loss_coef and not self.use_kl_loss:
            raise ValueError(f"kl_loss_coef={self.kl_loss_coef:g} has no effect without use_kl_loss")
        parse_truncated_as(self.truncated_as)
        return self

    def batching(self, longest: int) -> BatchingConfig:
        """How advantages are made, for answers of at most ``longest`` tokens."""
        overlong = None
        if self.overlong_buffer_len is not None:
            overlong = OverlongShaping(
                max_length=longest, buffer=self.overlong_buffer_len, factor=self.overlong_penalty_factor
            )
        return BatchingConfig(
            advantages=AdvantageConfig(estimator=self.advantage_estimator, std=self.advantage_std),
            truncated_as=parse_truncated_as(self.truncated_as),
            overlong=overlong,
            kl_coef=self.kl_coef,
        )

    def objective(self, longest: int) -> PolicyObjective:
        """The loss, for answers of at most ``longest`` tokens. Imports torch."""
        from assay.models.losses.config import PolicyLossConfig
        from assay.training.objective import PolicyObjective

        estimator = ESTIMATORS[self.advantage_estimator]
        return PolicyObjective(
            config=PolicyLossConfig(
                level=estimator.level,
                eps_clip=self.eps_clip,
                eps_clip_high=self.eps_clip_high,
                eps_clip_c=self.eps_clip_c,
                use_kl_loss=self.use_kl_loss,
                kl_loss_coef=self.kl_loss_coef,
                kl_loss_type=self.kl_loss_type,
                use_tis=self.use_tis,
                tis_clip=self.tis_clip,
                entropy_coef=self.entropy_coef,
            ),
            aggregation=self.loss_aggregation or estimator.aggregation,
            max_length=longest,
        )
