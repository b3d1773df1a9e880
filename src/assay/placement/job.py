"""What is to be run, in numbers: the work of one step, how it is trained, and what is known about speeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from assay.core.config import Config

from .model import ModelShape

Tokens = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class JudgeLoad(Config):
    """What one judge is asked about one sample."""

    calls: Annotated[int, Field(ge=0)] = 1
    """Requests a sample: votes, criteria, or 0 for a judge that is not asked."""
    prompt_tokens: Tokens = 512
    response_tokens: Tokens = 64
    spread: Annotated[float, Field(ge=0)] = 0.0
    """Standard deviation of the response length over its mean."""
    cached: Share = 0.0
    """Share of the prompt's tokens that the prefix cache knows."""
    asked: Share = 1.0
    """Share of the calls that are asked at all; the rest is known from equal questions."""


class Workload(Config):
    """One step."""

    prompts: Tokens = 32
    samples: Tokens = 8
    """Samples for each prompt."""
    prompt_tokens: Tokens = 256
    response_tokens: Tokens = 1024
    """Mean."""
    spread: Annotated[float, Field(ge=0)] = 0.5
    """Standard deviation of the response length over its mean; 0 = all equal, 1 and more = a long tail."""
    response_max: Tokens | None = None
    """Longer responses are cut there."""
    judge: JudgeLoad = JudgeLoad()
    """Every judge that is not named below."""
    judges: dict[str, JudgeLoad] = Field(default_factory=dict)
    """By route key."""


class Training(Config):
    """How the policy is trained."""

    dtype: Literal["bf16", "fp32"] = "bf16"
    """Of the forward and backward passes; master weights, gradients and Adam's moments are 32 bit."""
    lora_rank: Tokens | None = None
    """Adapters of this rank on all linear maps; not said = all parameters are trained."""
    checkpointing: bool = True
    """Activations of a layer are computed again in the backward pass."""
    micro_batch_tokens: Tokens = 8192
    """Tokens of one forward and backward pass on one GPU."""
    reference: bool = False
    """A reference policy reads every sample (KL)."""
    old_logprobs: bool = True
    """The actor reads every sample once before it trains."""


class EngineRate(Config):
    """Measured speed of one engine. ``tokens_per_s``: one or two pairs of (requests at a time, tokens a second)."""

    tokens_per_s: Annotated[tuple[tuple[Rate, Rate], ...], Field(min_length=1, max_length=2)]
    prefill_tokens_per_s: Rate | None = None
    request_s: Seconds = 0.0
    """Seconds that a request costs the engine beside its tokens."""


class Rates(Config):
    """Measured speeds; what is not said is assumed from the card's table."""

    rollout: EngineRate | None = None
    judge: EngineRate | None = None
    """Every judge that is not named below."""
    judges: dict[str, EngineRate] = Field(default_factory=dict)
    train_tokens_per_s: Rate | None = None
    """Of one GPU, whole training step."""
    forward_tokens_per_s: Rate | None = None
    """Of one GPU, reading for log-probs."""
    max_running: Tokens = 256
    """Most requests that an engine works on at a time."""
    sleep_s: Seconds | None = None
    """All engines to sleep."""
    wake_s: Seconds | None = None
    """Engines awake, canary included."""
    sync_s: Seconds | None = None
    """The actor's weights in all rollout engines."""
    actor_wake_s: Seconds | None = None
    actor_sleep_s: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run in numbers. ``judges``: shapes by route key; a judge without one (a rule, or unknown) costs nothing."""

    policy: ModelShape
    judges: Mapping[str, ModelShape] = field(default_factory=dict[str, ModelShape])
    workload: Workload = field(default_factory=Workload)
    training: Training = field(default_factory=Training)
    rates: Rates = field(default_factory=Rates)
    contexts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Most tokens of prompt and reply together, by claim, where an engine is told."""

    def load(self, judge: str) -> JudgeLoad:
        """What a judge is asked."""
        return self.workload.judges.get(judge, self.workload.judge)
