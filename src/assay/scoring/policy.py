"""What the scorer does about load and about failures. Data only; the scorer obeys it."""

from __future__ import annotations

from assay.core.config import Config
from assay.core.types import FailureKind

REASK_KINDS = frozenset({FailureKind.PARSE_ERROR, FailureKind.TRUNCATED, FailureKind.REFUSED})
"""Failures of the text, where another sample may hold a verdict. Failures of the engine are retried by the engine."""


class ScoringPolicy(Config):
    """Limits and the re-ask policy of a scorer."""

    max_concurrency: int = 64
    """Judgments that may be with the engine at the same time; the others wait, within their deadline."""

    reask: int = 1
    """How often a judge whose text held no verdict is asked again, with another seed (contracts: ``--judge-reask``)."""
