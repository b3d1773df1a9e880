"""When to try again, as pure functions: the pause before an attempt, and what ``Retry-After`` says."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def pause(attempt: int, key: str, *, first: float, longest: float) -> float:
    """Seconds to wait before retry number ``attempt`` (from 0).

    Doubles from ``first`` to ``longest``; the jitter takes up to half of it off, drawn from ``key`` and the attempt, so
    that requests that failed together do not come back together, and one request waits the same in every run.
    """
    whole = min(longest, first * 2.0 ** min(attempt, 60))
    return whole * random.Random(f"{key}/{attempt}").uniform(0.5, 1.0)


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds that a ``Retry-After`` header asks for (RFC 9110: seconds, or a date); None where it cannot be read."""
    if header is None:
        return None
    text = header.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    return max(0.0, seconds) if math.isfinite(seconds) else None
