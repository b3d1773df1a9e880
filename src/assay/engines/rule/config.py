"""Settings of the rule engine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.core.config import Config


class RuleConfig(Config):
    """A pool of child processes that answer rules."""

    kind: Literal["rule"] = "rule"
    workers: int = Field(default=2, ge=1, le=256)
    """Child processes. One that is stuck holds up no other; while it is replaced the pool is one short."""
    rule_timeout_s: float = Field(default=5.0, gt=0)
    """Seconds one answer may take, counted in the child from the moment it takes the question."""
    memory_mb: int = Field(default=1024, ge=256)
    """Address space in MiB that a child may use; an answer that needs more is a failure, not a verdict."""
    start_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds a child may take until it is ready."""
