"""``Counting``: what ties and failures are worth. It stands beside every score."""

from __future__ import annotations

from typing import Literal

from assay.core.config import Config

Ties = Literal["official", "share", "wrong", "random"]
Failures = Literal["official", "strict", "excluded", "lenient"]


class Counting(Config):
    """What becomes of a tie for the best place, and of a judgment that failed."""

    ties: Ties = "official"
    """``official``: as the benchmark's own code has it. ``share``: the chance of a fair draw among the tied (half, for
    a pair). ``wrong``: nothing. ``random``: a draw seeded by content."""
    failures: Failures = "official"
    """``official``: as the benchmark's own code has it, wrong where it has no rule. ``strict``: wrong. ``excluded``:
    the case is left out and counted. ``lenient``: the lenient parser's reading of the same text; where that fails too,
    as ``official``."""
    scalar: bool = False
    """The answers are those of a scalar reward model: some benchmarks (RewardBench) count a tie of theirs differently
    from a tie of a generative judge."""
    threshold: float | None = None
    """A single answer with at least this score is said to be good. None: scores say nothing but an order, and there are
    no figures that need more (precision, recall, F1)."""
    seed: int = 0
    """For ``random`` ties."""


def middle(scale: tuple[float, float] | None) -> float | None:
    """The threshold that a judge's scale has by itself: its middle; None for a judge without a scale."""
    return None if scale is None else (scale[0] + scale[1]) / 2
