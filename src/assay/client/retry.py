"""When to come back after a refusal. Pure: numbers in, seconds out."""

from __future__ import annotations

import random

FIRST_S = 0.25
LONGEST_S = 8.0
CONNECT_ATTEMPTS = 5
"""A service that is restarting is back within these; one that is not there is reported, not waited for."""

RETRIED = frozenset({429, 503})
"""Statuses that say "later"; every other refusal would be the same again."""


def wait_s(attempt: int, retry_after: float | None, draw: random.Random) -> float:
    """Seconds before attempt ``attempt`` + 1 (from 0): at least what the service asked for, and spread by chance.

    Without a word from the service: exponential, between half and the whole of 0.25 s, 0.5 s, ... 8 s.
    """
    if retry_after is not None:
        return retry_after * draw.uniform(1.0, 1.25)
    return min(LONGEST_S, FIRST_S * 2.0**attempt) * draw.uniform(0.5, 1.0)


def read_retry_after(header: str | None) -> float | None:
    """Seconds of a ``Retry-After`` header; None where it is absent or a date (which no service here sends)."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
