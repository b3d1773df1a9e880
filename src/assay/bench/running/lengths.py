"""How long prompts and texts are, by subset: tokens of every vote of a pass, whoever answered. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .asked import Asked
from .recorded import Recorded

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Tokens of a vote: their mean, median, 95th percentile, most, and the sum over all votes."""

    mean: float
    median: float
    p95: float
    most: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Of one subset, or of ``all``."""

    votes: int
    prompt: Spread
    written: Spread


def lengths_of(asked: Asked, recorded: Recorded) -> dict[str, Lengths]:
    """By subset, ``all`` first; empty where no tokens were counted. A shared candidate counts in its first subset."""
    by_subset: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for subject, votes in recorded.votes.items():
        pairs = [(vote.usage.prompt_tokens, vote.usage.completion_tokens) for vote in votes]
        by_subset[asked.subset[subject]] += [pair for pair in pairs if any(pair)]
    every = [pair for pairs in by_subset.values() for pair in pairs]
    if not every:
        return {}
    return {ALL: _lengths(every)} | {name: _lengths(pairs) for name, pairs in sorted(by_subset.items()) if pairs}


def _lengths(pairs: Sequence[tuple[int, int]]) -> Lengths:
    prompt, written = zip(*pairs, strict=True)
    return Lengths(votes=len(pairs), prompt=_spread(prompt), written=_spread(written))


def _spread(tokens: Sequence[int]) -> Spread:
    values = np.array(tokens)
    median, p95 = np.percentile(values, (50, 95))
    return Spread(
        mean=float(values.mean()), median=float(median), p95=float(p95), most=int(values.max()), total=int(values.sum())
    )


def by_pass(asked: Asked, recorded: Mapping[str, Recorded]) -> dict[str, dict[str, Lengths]]:
    """The lengths of several passes."""
    return {name: found for name, one in recorded.items() if (found := lengths_of(asked, one))}
