"""Agreement beyond chance: Cohen's kappa for two, Krippendorff's alpha for any number.

Labels are hashable; for other than nominal data they are numbers. Sources: Cohen 1960, "A coefficient of agreement for
nominal scales"; Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal

Label = Hashable
Metric = Literal["nominal", "ordinal", "interval"]
Distance = Callable[[Any, Any], float]


def kappa(pairs: Iterable[tuple[Label, Label]]) -> float | None:
    """Cohen's kappa, unweighted: (observed - expected) / (1 - expected).

    Args:
        pairs: the labels that the two gave to each unit.

    Returns:
        None: no pairs, or both always gave the same one label, so that nothing is beyond chance.
    """
    counted = Counter(pairs)
    total = sum(counted.values())
    if not total:
        return None
    observed = sum(n for (one, other), n in counted.items() if one == other) / total
    left, right = Counter[Label](), Counter[Label]()
    for (one, other), n in counted.items():
        left[one] += n
        right[other] += n
    expected = sum(n * right[label] for label, n in left.items()) / total**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def alpha(units: Iterable[Sequence[Label]], metric: Metric = "nominal") -> float | None:
    """Krippendorff's alpha: 1 - observed / expected disagreement.

    Args:
        units: the labels that each unit got, missing ones left out; a unit with fewer than two says nothing.

    Returns:
        None: nothing to compare, or all labels are the same.
    """
    coincidences = _coincidences(Counter(tuple(unit) for unit in units))
    margins: dict[Label, float] = {}
    for (one, _), weight in coincidences.items():
        margins[one] = margins.get(one, 0.0) + weight
    apart = _distance(margins, metric)
    expected = sum(n * m * apart(one, other) for one, n in margins.items() for other, m in margins.items())
    if not expected:
        return None
    observed = sum(weight * apart(*pair) for pair, weight in coincidences.items())
    return 1 - (sum(margins.values()) - 1) * observed / expected


def _coincidences(units: Counter[tuple[Label, ...]]) -> dict[tuple[Label, Label], float]:
    """How often two labels meet within a unit, each unit counted once for each of its labels."""
    found: dict[tuple[Label, Label], float] = {}
    for labels, times in units.items():
        counted = Counter(labels)
        for one, n in counted.items():
            for other, m in counted.items():
                pairs = n * (m - (one == other))
                if pairs:
                    found[one, other] = found.get((one, other), 0.0) + times * pairs / (len(labels) - 1)
    return found


def _distance(margins: dict[Label, float], metric: Metric) -> Distance:
    """The squared difference of two labels."""
    if metric == "nominal":
        return lambda one, other: float(one != other)
    if metric == "interval":
        return lambda one, other: (one - other) ** 2

    def ordinal(one: Any, other: Any) -> float:
        low, high = min(one, other), max(one, other)
        between = sum(n for label, n in margins.items() if _within(low, label, high))
        return (between - (margins[one] + margins[other]) / 2) ** 2 if low != high else 0.0

    return ordinal


def _within(low: Any, label: Any, high: Any) -> bool:
    return low <= label <= high
