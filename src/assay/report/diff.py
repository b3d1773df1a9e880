"""What changed from one run to another, judgment by judgment. Pure; ``diff_text`` shows it.

Judgments are matched by item and candidate. Of several candidates the choice counts, of a single one on which side of
1/2 it stands (on a 0-1 scale).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.core.errors import InputError
from assay.data import ResultRow
from assay.data.decisions import judgments
from assay.data.results import by_judge
from assay.voting.ties import best_of

from .agreement import accepts, agreement, unit_scale
from .summary import JudgeSummary, summarise


class Kind(StrEnum):
    """What can change, the worst first."""

    LOST = "verdict became a failure"
    FLIPPED = "choice flipped"
    TIED = "became a tie"
    UNTIED = "a tie was broken"
    SETTLED = "tie settled otherwise"
    CROSSED = "crossed 1/2"
    FOUND = "failure became a verdict"
    OTHER_FAILURE = "another failure"
    SCORES = "scores changed, same choice"
    SAME = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One judgment before and after; ``right``: whether each agrees with gold, None where that is no question."""

    kind: Kind
    before: ResultRow
    after: ResultRow
    right: tuple[bool | None, bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """``changes``: every pair that is not the same, the worst kind first, then in the order of the run before.

    ``only_before``, ``only_after``: judgments without a partner. ``other_content``: pairs that were asked about
    different content. ``mended``, ``broken``: wrong ones that became right, right ones that became wrong (ties too).
    """

    before: JudgeSummary
    after: JudgeSummary
    pairs: int
    counts: Mapping[Kind, int]
    changes: tuple[Change, ...]
    only_before: int
    only_after: int
    other_content: int
    mended: int
    broken: int


def diff(before: Iterable[ResultRow], after: Iterable[ResultRow]) -> RunDiff:
    """What changed between the runs of one judge each.

    Raises:
        InputError: a run of several judges, an empty one, or two that have no judgment in common.
    """
    runs = [list(before), list(after)]
    made = [_judgments(rows, name) for rows, name in zip(runs, ("before", "after"), strict=True)]
    common = [key for key in made[0] if key in made[1]]
    if not common:
        raise InputError(
            "the two runs have no judgment in common: they are about other items, or judge them one by one"
        )
    units = [unit_scale(score for row in found.values() for score in row.scores or ()) for found in made]
    pairs = [_change(made[0][key], made[1][key], units) for key in common]
    places = list(Kind)
    changed = sorted((c for c in pairs if c.kind is not Kind.SAME), key=lambda change: places.index(change.kind))
    counts = Counter(change.kind for change in pairs)
    return RunDiff(
        before=summarise(runs[0]).judges[0],
        after=summarise(runs[1]).judges[0],
        pairs=len(pairs),
        counts={kind: counts[kind] for kind in Kind if counts[kind]},
        changes=tuple(changed),
        only_before=len(made[0]) - len(pairs),
        only_after=len(made[1]) - len(pairs),
        other_content=sum(c.before.content_hash != c.after.content_hash for c in pairs),
        mended=sum(c.right == (False, True) for c in pairs),
        broken=sum(c.right == (True, False) for c in pairs),
    )


def _judgments(rows: Sequence[ResultRow], name: str) -> dict[tuple[str, int | None, int], ResultRow]:
    """By item, candidate, and the how manieth judgment of them it is."""
    judges = [judge for judge, _, _ in by_judge(rows)]
    if len(judges) != 1:
        told = f"several judges ({', '.join(judges)})" if judges else "no judgments"
        raise InputError(f"the run {name} holds {told}; compare runs of one judge each")
    found: dict[tuple[str, int | None, int], ResultRow] = {}
    times: Counter[tuple[str, int | None]] = Counter()
    for row in judgments(rows):
        key = row.item_id, row.candidate
        found[(*key, times[key])] = row
        times[key] += 1
    return found


def _change(before: ResultRow, after: ResultRow, units: Sequence[bool]) -> Change:
    right = agreement(before, unit=units[0]), agreement(after, unit=units[1])
    return Change(kind=_kind(before, after, unit=all(units)), before=before, after=after, right=right)


def _kind(before: ResultRow, after: ResultRow, *, unit: bool) -> Kind:
    if not before.ok or not after.ok:
        if before.ok == after.ok:
            return Kind.SAME if before.outcome == after.outcome else Kind.OTHER_FAILURE
        return Kind.LOST if before.ok else Kind.FOUND
    one, other = list(before.ranking or ()), list(after.ranking or ())
    if one == other and before.choice == after.choice:
        return Kind.SAME
    if len(one) == len(other) == 1:
        return Kind.CROSSED if unit and accepts(one[0], 1.0) != accepts(other[0], 1.0) else Kind.SCORES
    best = [best_of(scores) if scores else () for scores in (one, other)]
    tied = [len(found) != 1 for found in best]
    if tied[0] != tied[1]:
        return Kind.TIED if tied[1] else Kind.UNTIED
    if tied[0]:
        return Kind.SCORES if before.choice == after.choice else Kind.SETTLED
    return Kind.SCORES if best[0] == best[1] else Kind.FLIPPED
