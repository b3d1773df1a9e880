"""``Measured`` and ``Cases``: what single cases are worth, and many of them as columns that can be resampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
Counts: TypeAlias = "npt.NDArray[np.int64]"

_FEW = 256
"""With no more distinct rows than this, a resample is one multinomial draw; else it is counted out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one case is worth.

    ``values``: the components that the benchmark's formula adds up, the same names for all cases of a subset. NaN says
    that this case has no part in that component.
    """

    case: str
    subset: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Cases of one subset (or of several, ``pooled``). Equal cases share a row, so the order of records is gone.

    ``columns``: component -> (rows,) float64. ``weights``: (rows,) how many cases the row stands for.
    """

    columns: Mapping[str, Floats]
    weights: Counts

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> Cases:
        """The cases as columns.

        Raises:
            ValueError: none, or their components differ.
        """
        if not measured:
            raise ValueError("there is no case to count")
        names = tuple(sorted(measured[0].values))
        if any(tuple(sorted(one.values)) != names for one in measured):
            raise ValueError(f"not all cases have the components {names}")
        table = np.array([[one.values[name] for name in names] for one in measured], dtype=np.float64)
        return _grouped(names, table, np.ones(len(measured), dtype=np.int64))

    @classmethod
    def pooled(cls, parts: Iterable[Cases]) -> Cases:
        """The cases of several subsets as those of one.

        Raises:
            ValueError: none, or their components differ.
        """
        several = list(parts)
        if not several or any(set(one.columns) != set(several[0].columns) for one in several):
            raise ValueError("cases of several subsets need the same components to be pooled")
        columns = {name: np.concatenate([one.columns[name] for one in several]) for name in several[0].columns}
        return cls(columns=columns, weights=np.concatenate([one.weights for one in several]))

    @property
    def count(self) -> int:
        """How many cases there are."""
        return int(self.weights.sum())

    def total(self, component: str) -> float:
        """The sum of a component over the cases that have it."""
        values = self.columns[component]
        return float(np.where(np.isnan(values), 0.0, values) @ self.weights)

    def having(self, component: str) -> int:
        """How many cases have a part in a component."""
        return int(self.weights[~np.isnan(self.columns[component])].sum())

    def mean(self, component: str) -> float | None:
        """The mean of a component over the cases that have it; None where none has."""
        n = self.having(component)
        return self.total(component) / n if n else None

    def ratio(self, part: str, whole: str) -> float | None:
        """The sum of one component over the sum of another; None where that is 0."""
        whole_total = self.total(whole)
        return self.total(part) / whole_total if whole_total else None

    def auc(self, score: str, label: str) -> float | None:
        """Area under the ROC curve: the chance that a case with label 1 scores above one with label 0, ties half.

        None where one of the two labels is not there.
        """
        # Stable, as it is the sort that is quick where the rows are in order already.
        order = np.argsort(self.columns[score], kind="stable")
        scores, weights = self.columns[score][order], self.weights[order].astype(np.float64)
        good = weights * (self.columns[label][order] > 0)
        bad = weights - good
        starts = np.concatenate(([0], np.flatnonzero(scores[1:] != scores[:-1]) + 1))
        if len(starts) < len(scores):
            good, bad = np.add.reduceat(good, starts), np.add.reduceat(bad, starts)
        pairs = float(good.sum() * bad.sum())
        below = np.cumsum(bad) - bad
        return float(good @ (below + bad / 2)) / pairs if pairs else None

    def resampled(self, generator: np.random.Generator) -> Cases:
        """As many cases, drawn with replacement."""
        n, rows = self.count, len(self.weights)
        if rows <= _FEW:
            return replace(self, weights=generator.multinomial(n, self.weights / n))
        row_of_case = np.repeat(np.arange(rows), self.weights)
        drawn = row_of_case[generator.integers(0, n, n)]
        return replace(self, weights=np.bincount(drawn, minlength=rows))


def _grouped(names: Sequence[str], table: Floats, weights: Counts) -> Cases:
    """Equal rows as one. Sorted by the components, so neither the order of cases nor that of their sums matters."""
    # The component of most values goes first, so that rows stand in the order of scores where there are scores.
    distinct = [len(np.unique(column)) for column in table.T]
    order = np.lexsort(table.T[np.argsort(distinct, kind="stable")])
    table, weights = table[order], weights[order]
    same = (table[1:] == table[:-1]) | (np.isnan(table[1:]) & np.isnan(table[:-1]))
    starts = np.concatenate(([0], np.flatnonzero(~same.all(axis=1)) + 1))
    columns = {name: np.ascontiguousarray(table[starts, place]) for place, name in enumerate(names)}
    return Cases(columns=columns, weights=np.add.reduceat(weights, starts))
