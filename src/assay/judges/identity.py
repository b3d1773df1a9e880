"""The identity of a judge: its name and a hash of everything that shapes its verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.seeds import digest
from assay.core.types import Json

from .scores import RULES_VERSION


def identify(name: str, rules: Sequence[Json]) -> str:
    """``<name>-<12 hex digits>``; ``rules`` are the prompt texts, labels and options, the parser's version is added."""
    return f"{name}-{digest([RULES_VERSION, *rules])[:12]}"
