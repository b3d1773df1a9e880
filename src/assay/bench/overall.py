"""Figures over several benchmarks: Overall as the DeepSeek-GRM paper has it, and average ranks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("RewardBench", ("rewardbench",)),
    ("PPE Preference", ("ppe-preference",)),
    ("PPE Correctness", ("ppe-correctness",)),
    ("RMB", ("rmb", "rmb-pairs")),
)
"""What Overall is the mean of, and the benchmarks whose score each may be; ReaLMistake has no part in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """The mean of the four scores; None where one is missing."""

    value: float | None
    parts: Mapping[str, float]
    missing: tuple[str, ...]


def overall(scores: Mapping[str, float | None]) -> Overall:
    """Overall out of scores in percent by the benchmark's name. A list-wise RMB goes before a pairwise one."""
    parts: dict[str, float] = {}
    for title, names in PARTS:
        found = next((value for name in names if (value := scores.get(name)) is not None), None)
        if found is not None:
            parts[title] = found
    missing = tuple(title for title, _ in PARTS if title not in parts)
    value = None if missing else sum(parts.values()) / len(PARTS)
    return Overall(value=value, parts=parts, missing=missing)


def average_ranks(table: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean over columns of each row's rank (1 = highest); rows with an equal value share the best of their ranks.

    Args:
        table: row -> column -> value, all rows with the same columns.

    Raises:
        ValueError: there is no column, or a row lacks one.
    """
    columns = list(next(iter(table.values()), {}))
    if not columns or any(set(row) != set(columns) for row in table.values()):
        raise ValueError("ranks need rows that all have the same columns, at least one")
    ranks = {
        name: [1 + sum(other[column] > row[column] for other in table.values()) for column in columns]
        for name, row in table.items()
    }
    return {name: sum(own) / len(own) for name, own in ranks.items()}
