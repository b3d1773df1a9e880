"""The settings of rollouts, named as the run scripts of Relax and slime name them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from assay.core.config import Config
from assay.core.types import SamplingParams


class RolloutConfig(Config):
    """How the policy answers, and how many answers a step has."""

    num_rollout: int = Field(default=100, ge=1)
    """Steps of the run; each rolls out one batch and trains on it."""
    rollout_batch_size: int = Field(default=16, ge=1)
    """Prompts of a step."""
    n_samples_per_prompt: int = Field(default=8, ge=1)
    """Answers to each prompt; they are one group."""
    over_sampling_batch_size: int | None = Field(default=None, ge=1)
    """Prompts that are rolled out at a time; the first good groups, in the order of the prompts, make the batch."""
    dynamic_sampling_filter: Literal["none", "dead_groups"] = "none"
    """dead_groups: groups whose rewards are all equal are dropped, and others rolled out in their place."""
    partial_rollout: bool = False
    """Keep what over-sampled answers have so far, and go on with them in the next step."""
    rollout_max_response_len: int = Field(default=1024, ge=1)
    """Most tokens of an answer, all its turns together."""
    rollout_temperature: float = Field(default=1.0, ge=0)
    """Sampling temperature of the policy."""
    rollout_top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of the policy's sampling."""
    rollout_top_k: int = -1
    """Most likely tokens that are sampled from; -1 is all."""
    rollout_stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    rollout_seed: int = Field(default=42, ge=0)
    """Another seed draws other prompts and other answers."""
    rollout_concurrency: int = Field(default=512, ge=1)
    """Answers in flight at a time."""
    rollout_timeout_s: float = Field(default=1800.0, gt=0)
    """Most seconds that one turn of an answer may take."""
    reward_timeout_s: float = Field(default=600.0, gt=0)
    """Most seconds that one reward may take."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        over = self.over_sampling_batch_size
        if over is not None and over < self.rollout_batch_size:
            raise ValueError(
                f"over_sampling_batch_size {over} is below rollout_batch_size {self.rollout_batch_size}: "
                "it is how many prompts are rolled out at a time"
            )
        if self.dynamic_sampling_filter == "dead_groups" and self.n_samples_per_prompt < 2:
            raise ValueError("dynamic_sampling_filter 'dead_groups' compares answers: n_samples_per_prompt must be 2+")
        return self

    def sampling(self, room: int, seed: int) -> SamplingParams:
        """The parameters of one turn with ``room`` tokens left; log-probs of the sampled tokens are returned."""
        return SamplingParams(
            temperature=self.rollout_temperature,
            top_p=self.rollout_top_p,
            top_k=self.rollout_top_k,
            stop=self.rollout_stop or None,
            max_new_tokens=room,
            seed=seed,
            logprobs=0,
        )
