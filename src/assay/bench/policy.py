"""``Policy``: what ties and failures are worth. It stands beside every score."""

from __future__ import annotations

from typing import Literal

from assay.core.config import Config

Ties = Literal["official", "share", "wrong", "random"]
Failures = Literal["official", "strict", "excluded", "lenient"]


class Policy(Config):
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
    seed: int = 0
    """For ``random`` ties."""
