"""What rolls out, for training and for evaluation, and what judges it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.engines.base import Engine

from .reward_use import RewardUse
from .rollout.answer import Answering
from .rollout.config import RolloutConfig
from .sample import Prompt
from .tokens import PolicyTokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """The rollout engine with the policy's tokenizer, and the rewards."""

    engine: Engine
    tokenizer: PolicyTokenizer
    rewards: RewardUse

    def answering(self, rollout: RolloutConfig) -> Answering:
        """The answers of the policy under such settings."""
        return Answering(self.engine, self.tokenizer, rollout)

    def tokens(self, prompt: Prompt) -> tuple[int, ...]:
        """Those of a prompt."""
        return self.tokenizer.render(prompt.prompt)
