"""The table of engines: their settings as one union, and which class each setting builds.

Owns the names. Importing it imports no torch: an engine's own module is imported when it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, assert_never

from pydantic import Field, TypeAdapter, ValidationError

from assay.core.config import explain
from assay.core.errors import InputError
from assay.core.kinds import refuse_mixed

from .base import Engine
from .embedded.config import EmbeddedConfig
from .fake.config import FakeConfig
from .openai.config import OpenAIConfig
from .rule.config import RuleConfig
from .sglang.config import SGLangConfig

EngineConfig = Annotated[
    EmbeddedConfig | OpenAIConfig | SGLangConfig | RuleConfig | FakeConfig, Field(discriminator="kind")
]

KINDS = ("embedded", "openai", "sglang", "rule", "fake")

_ADAPTER: TypeAdapter[EngineConfig] = TypeAdapter(EngineConfig)


def engine_config(kind: str, options: Mapping[str, Any]) -> EngineConfig:
    """The settings of an engine, checked. Raises InputError for an unknown kind or option, or a wrong value."""
    if kind not in KINDS:
        raise InputError(f"no engine is named {kind!r}; there are {', '.join(KINDS)}")
    try:
        refuse_mixed(EngineConfig, {**options, "kind": kind})
        return _ADAPTER.validate_python({**options, "kind": kind})
    except ValidationError as error:
        raise InputError(f"options of engine {kind!r}: {explain(error, EngineConfig)}") from error


def build_engine(config: EngineConfig) -> Engine:
    """The engine of these settings, not started yet."""
    match config:
        case EmbeddedConfig():
            from .embedded.engine import EmbeddedEngine

            return EmbeddedEngine(config)
        case OpenAIConfig():
            from .openai.engine import OpenAIEngine

            return OpenAIEngine(config)
        case SGLangConfig():
            from .sglang.engine import SGLangEngine

            return SGLangEngine(config)
        case RuleConfig():
            from .rule.engine import RuleEngine

            return RuleEngine(config)
        case FakeConfig():
            from .fake.engine import FakeEngine

            return FakeEngine(config)
        case _:
            assert_never(config)
