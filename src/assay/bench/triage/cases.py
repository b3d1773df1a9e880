"""The wrong cases of a recorded run, and a seeded sample of them by stratum. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import Item
from assay.data import ResultRow, item_from_row
from assay.data.decisions import judgments
from assay.data.results import by_judge

from ..standing import read_places

EVERYTHING = "all"
"""The stratum of a run that is not divided."""
SUBSETS = ("subset", "benchmark", "category", "domain")
"""Metadata that divides a run where nothing is said: the first that any row has."""
HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One wrong verdict. ``text``: what the judge said. ``tied``: the right answer shared the highest score."""

    item: Item
    stratum: str
    scores: tuple[float, ...]
    gold: tuple[float, ...]
    text: str
    tied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The wrong ones, and what became of the other items.

    ``failed``: came to no verdict, or not to one on all answers, which is no wrong one. ``undecided``: gold prefers
    nothing, or a lone answer has gold or scores that are not on a scale from 0 to 1.
    """

    wrong: tuple[Case, ...]
    right: int
    failed: int
    undecided: int

    @property
    def by_stratum(self) -> dict[str, int]:
        """How many are wrong in each, the largest first."""
        return dict(Counter(case.stratum for case in self.wrong).most_common())


def wrong_cases(rows: Iterable[ResultRow], by: str | None = None) -> Cases:
    """The wrong cases of a run. A tie with the best answer is wrong; one that several best answers share is not.

    Args:
        by: the metadata that divides it into strata; None = the first of ``SUBSETS`` that there is.

    Raises:
        InputError: results of several judges; no row has the metadata ``by``; the rows do not hold their items.
    """
    every = judgments(rows)
    judges = by_judge(every)
    if len(judges) > 1:
        names = ", ".join(" · ".join(filter(None, (name, model))) for name, _, model in judges)
        raise InputError(f"these results are of several judges ({names}): triage one of them at a time")
    key = _key(every, by)
    groups: dict[tuple[str, int], list[ResultRow]] = {}
    for row in (part for one in every for part in _in_questions(one)):
        groups.setdefault((row.item_id, row.base_seed), []).append(row)
    unit = all(0 <= score <= 1 for row in every for score in row.scores or ())
    found: list[Case] = []
    counted = Counter[str]()
    for group in groups.values():
        case = _case(group, key, unit=unit)
        if isinstance(case, Case):
            found.append(case)
        else:
            counted[case] += 1
    return Cases(wrong=tuple(found), right=counted["right"], failed=counted["failed"], undecided=counted["undecided"])


def sample(cases: Cases, each: int, seed: int = 0) -> list[Case]:
    """At most ``each`` cases of every stratum, drawn by what they are about, stratum by stratum."""
    drawn: list[Case] = []
    for stratum in cases.by_stratum:
        own = [case for case in cases.wrong if case.stratum == stratum]
        drawn += sorted(own, key=lambda case: _place(case, seed))[:each]
    return drawn


def _place(case: Case, seed: int) -> str:
    asked = [[message.role, message.text] for message in case.item.messages]
    return digest(["triage", seed, asked, [one.text for one in case.item.candidates], case.item.id])


def _key(rows: Sequence[ResultRow], by: str | None) -> str | None:
    if by is None:
        return next((name for name in SUBSETS if any(name in row.metadata for row in rows)), None)
    if not any(by in row.metadata for row in rows):
        there = ", ".join(dict.fromkeys(name for row in rows for name in row.metadata)) or "none"
        raise InputError(f"no result has the metadata {by!r} to divide the run by; there is {there}")
    return by


def _in_questions(row: ResultRow) -> Iterator[ResultRow]:
    """The row as a part of each question that its answer stands in; itself, where that is not said."""
    places = read_places(row.metadata)
    if not places:
        yield row
    for one in places:
        gold = None if one.gold is None else (one.gold,)
        metadata = {**row.metadata, "subset": one.subset}
        yield replace(row, item_id=one.unit, candidate=one.place, gold=gold, metadata=metadata)


def _case(group: Sequence[ResultRow], key: str | None, *, unit: bool) -> Case | str:
    """The wrong case that the judgments of an item are, or ``right``, ``failed``, ``undecided``."""
    first = group[0]
    parts = [first] if first.candidate is None else sorted(group, key=lambda row: row.candidate or 0)
    gold = tuple(one for row in parts for one in row.own_gold or ())
    lacking = any(one.of != len(parts) for one in read_places(first.metadata) if one.unit == first.item_id)
    if lacking or any(row.ranking is None for row in parts):
        return "failed"
    scores = tuple(score for row in parts for score in row.ranking or ())
    if len(gold) != len(scores) or not _decidable(gold, unit=unit):
        return "undecided"
    if _right(scores, gold):
        return "right"
    if not first.item:
        raise InputError(f"the result of item {first.item_id!r} does not hold the item: judge the file again")
    top = max(scores)
    best = [score for score, one in zip(scores, gold, strict=True) if one == max(gold)]
    return Case(
        item=replace(_item(parts), gold=gold),
        stratum=EVERYTHING if key is None else str(first.metadata.get(key, "(none)")),
        scores=scores,
        gold=gold,
        text="\n\n".join(row.text for row in parts),
        tied=len(scores) > 1 and top in best,
    )


def _decidable(gold: Sequence[float], *, unit: bool) -> bool:
    return min(gold) < max(gold) if len(gold) > 1 else unit and len(gold) == 1 and gold[0] in (0.0, 1.0)


def _right(scores: Sequence[float], gold: Sequence[float]) -> bool:
    if len(scores) == 1:
        return (scores[0] >= HALF) == (gold[0] == 1.0)
    others = [score for score, one in zip(scores, gold, strict=True) if one < max(gold)]
    return max(score for score, one in zip(scores, gold, strict=True) if one == max(gold)) > max(others)


def _item(parts: Sequence[ResultRow]) -> Item:
    items = [item_from_row(row.item) for row in parts]
    return replace(
        items[0], id=parts[0].item_id, candidates=tuple(one for item in items for one in item.candidates), gold=None
    )
