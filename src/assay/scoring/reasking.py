"""What the scorer does about texts that hold no verdict. Pure; the scorer obeys it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.types import FailureKind, Outcome, Request, Verdict

REASK = 1
"""How often a judge whose text held no verdict is asked again, with another seed (``--reask``), unless said."""

REASK_KINDS = frozenset({FailureKind.PARSE_ERROR, FailureKind.TRUNCATED, FailureKind.REFUSED})
"""Failures of the text, where another sample may hold a verdict. Failures of the engine are retried by the engine."""


def worth_reasking(outcome: Outcome, requests: Sequence[Request]) -> bool:
    """Greedy decoding, fixed choices and rules say the same again: asking them twice is a waste."""
    if isinstance(outcome, Verdict) or outcome.kind not in REASK_KINDS:
        return False
    return any(request.choices is None and request.sampling.temperature for request in requests)
