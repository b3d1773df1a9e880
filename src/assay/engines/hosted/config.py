"""Settings of a hosted engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from assay.core.config import Config


class HostedConfig(Config):
    """An engine of the catalog, run in a process of its own."""

    engine: dict[str, Any]
    """``kind`` and the options of that engine, as in the catalog, e.g. ``{"kind": "embedded", "threads": 1}``."""
    python: str | None = None
    """Interpreter of the process; None is that of this one."""
    environment: dict[str, str] = Field(default_factory=dict[str, str])
    """Added to the environment of the process, e.g. ``CUDA_VISIBLE_DEVICES``."""
    log_file: Path | None = None
    """Where its output goes, appended; None keeps it until the engine is closed."""
    start_timeout_s: float = Field(default=600, gt=0)
    close_timeout_s: float = Field(default=10, gt=0)
    """Seconds that it gets to end by itself before it is killed."""
