"""From verdicts to tables. Pure. A verdict is 1, 0 or None (no verdict in the text), and None is never right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.stats import wilson

from .sets import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One item: what is right, what the judge said, and what it is counted under."""

    gold: float
    said: float | None
    kind: str
    form: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Right verdicts on right answers and on wrong ones. None: there were none of them."""

    right: int
    right_of: int
    wrong: int
    wrong_of: int
    silent: int

    @classmethod
    def of(cls, answers: Iterable[Answered]) -> Rates:
        found = list(answers)
        yes, no = [a for a in found if a.gold == 1], [a for a in found if a.gold != 1]
        return cls(
            right=sum(a.said == 1 for a in yes),
            right_of=len(yes),
            wrong=sum(a.said == 0 for a in no),
            wrong_of=len(no),
            silent=sum(a.said is None for a in found),
        )

    @property
    def tpr(self) -> float | None:
        return self.right / self.right_of if self.right_of else None

    @property
    def tnr(self) -> float | None:
        return self.wrong / self.wrong_of if self.wrong_of else None

    @property
    def balanced(self) -> float | None:
        """The mean of both; of the one that there is, where only one is."""
        rates = [rate for rate in (self.tpr, self.tnr) if rate is not None]
        return sum(rates) / len(rates) if rates else None

    def as_json(self) -> dict[str, Any]:
        n = self.right_of + self.wrong_of
        low, high = wilson(self.right + self.wrong, n)
        return {
            "n": n,
            "balanced": self.balanced,
            "tpr": self.tpr,
            "tnr": self.tnr,
            "low": low,
            "high": high,
            "no_verdict": self.silent,
        }


def answered(measured: Sequence[Measured], said: Sequence[float | None]) -> list[Answered]:
    """Items with their verdicts."""
    found: list[Answered] = []
    for one, verdict in zip(measured, said, strict=True):
        assert one.item.gold is not None
        gold = one.item.gold[0]
        found.append(Answered(gold=gold, said=verdict, kind=one.kind, form=one.form, language=one.language))
    return found


def by(answers: Sequence[Answered], key: Callable[[Answered], str]) -> dict[str, Any]:
    """The rates of each group, by name."""
    groups: dict[str, list[Answered]] = {}
    for one in answers:
        groups.setdefault(key(one), []).append(one)
    return {name: Rates.of(group).as_json() for name, group in sorted(groups.items())}


def summary(answers: Sequence[Answered]) -> dict[str, Any]:
    """All that is told of one set."""
    return {
        "all": Rates.of(answers).as_json(),
        "kind": by(answers, lambda one: one.kind),
        "language": by(answers, lambda one: one.language),
        "form": by(answers, lambda one: f"{'+' if one.gold == 1 else '-'} {one.form}"),
    }


def either(one: Sequence[float | None], other: Sequence[float | None]) -> list[float | None]:
    """Right where the first says so, else what the second says: a rule that is sure of equality, then a judge."""
    return [1.0 if a == 1 else b for a, b in zip(one, other, strict=True)]


def lines(results: Mapping[str, Any], part: str = "all") -> list[tuple[str, ...]]:
    """Rows of a table: set and judge, group, n, balanced accuracy, TPR, TNR, no verdict."""
    rows: list[tuple[str, ...]] = []
    for name, found in results.items():
        groups = {"": found["all"]} if part == "all" else found[part]
        for group, rates in groups.items():
            shares = ["-" if rates[key] is None else f"{100 * rates[key]:.1f}" for key in ("balanced", "tpr", "tnr")]
            rows.append((name, group, str(rates["n"]), *shares, str(rates["no_verdict"])))
    return rows
