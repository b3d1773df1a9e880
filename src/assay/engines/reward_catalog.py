"""The table of reward engines: their settings as one union, and which class each setting builds.

Importing it imports no torch: an engine's own module is imported when it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, assert_never

from pydantic import Field, TypeAdapter, ValidationError

from assay.core.config import explain
from assay.core.errors import InputError
from assay.core.kinds import refuse_mixed

from .base import RewardEngine
from .embedded.reward.config import EmbeddedRewardConfig
from .fake.reward import FakeRewardConfig
from .http_reward.config import HttpRewardConfig

RewardEngineConfig = Annotated[EmbeddedRewardConfig | HttpRewardConfig | FakeRewardConfig, Field(discriminator="kind")]

REWARD_KINDS = ("embedded", "sglang", "vllm", "fake")

_ADAPTER: TypeAdapter[RewardEngineConfig] = TypeAdapter(RewardEngineConfig)


def reward_engine_config(kind: str, options: Mapping[str, Any]) -> RewardEngineConfig:
    """The settings of a reward engine, checked. Raises InputError: unknown kind or option, or a wrong value."""
    if kind not in REWARD_KINDS:
        raise InputError(f"no reward engine is named {kind!r}; there are {', '.join(REWARD_KINDS)}")
    try:
        refuse_mixed(RewardEngineConfig, {**options, "kind": kind})
        return _ADAPTER.validate_python({**options, "kind": kind})
    except ValidationError as error:
        raise InputError(f"options of reward engine {kind!r}: {explain(error, RewardEngineConfig)}") from error


def build_reward_engine(config: RewardEngineConfig) -> RewardEngine:
    """The reward engine of these settings, not started yet."""
    match config:
        case EmbeddedRewardConfig():
            from .embedded.reward.engine import EmbeddedRewardEngine

            return EmbeddedRewardEngine(config)
        case HttpRewardConfig():
            from .http_reward.engine import HttpRewardEngine

            return HttpRewardEngine(config)
        case FakeRewardConfig():
            from .fake.reward import FakeRewardEngine

            return FakeRewardEngine(config)
        case _:
            assert_never(config)
