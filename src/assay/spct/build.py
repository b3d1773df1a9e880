"""From recorded votes to rows and their report. Pure: the same votes, items and plan give the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.types import Item
from assay.data import ResultRow
from assay.judges.base import Judge
from assay.judges.parts import parts

from .fates import Fate, Standing, fate, standing
from .hinted import HintedJudge
from .plan import KIND, SOURCE, RftPlan
from .rows import judged_row, name_of
from .tally import Counts, counts_of
from .work import Work

Subject = tuple[str, int | None]
"""Item and candidate: what a sample is about."""
Votes = Mapping[Subject, Sequence[ResultRow]]
"""Recorded samples, in the order of the votes."""


@dataclass(slots=True)
class Built:
    """Rows of judging in the order of the items, and what is said of them."""

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    total: Counts = field(default_factory=Counts)
    by_source: dict[str, Counts] = field(default_factory=dict[str, Counts])
    by_kind: dict[str, Counts] = field(default_factory=dict[str, Counts])

    def count(self, item: Item, counts: Counts) -> None:
        self.total += counts
        for table, key in ((self.by_source, SOURCE), (self.by_kind, KIND)):
            name = name_of(item, key)
            table[name] = table.get(name, Counts()) + counts


def by_subject(rows: Iterable[ResultRow]) -> dict[Subject, list[ResultRow]]:
    """Recorded rows by what they are about."""
    found: dict[Subject, list[ResultRow]] = {}
    for row in rows:
        found.setdefault((row.item_id, row.candidate), []).append(row)
    for votes in found.values():
        votes.sort(key=lambda row: row.vote)
    return found


def standings(work: Work, samples: Votes) -> Iterator[tuple[Item, Subject, Standing]]:
    """What becomes of each item that was sampled; ``Item``: what the sample is about."""
    for part, subject, gold in subjects(work):
        votes = samples.get(subject)
        if votes:
            yield part, subject, standing([fate(vote, gold) for vote in votes])


def to_hint(work: Work, samples: Votes, plan: RftPlan) -> tuple[Item, ...]:
    """The items that are asked once more with a hint: those of which anything may be kept."""
    wanted = {subject[0] for _, subject, found in standings(work, samples) if _keeps(found, plan)}
    return tuple(item for item in work.items if item.id in wanted)


def hinted_judge(judge: Judge, plan: RftPlan, *, chinese: bool = False) -> HintedJudge:
    """The judge with a hint."""
    return HintedJudge(base=judge, language="zh" if chinese else "en", strength=plan.hint_strength)


def collect(work: Work, plan: RftPlan, samples: Votes, hinted: Votes, hinter: HintedJudge, into: Built) -> None:
    """Add the rows of one work, and what became of its items."""
    shown = hinter if plan.keep_hint else work.judge
    for item, subject, gold in subjects(work):
        votes = samples.get(subject, ())
        if not votes:
            continue
        fates = [fate(vote, gold) for vote in votes]
        found = standing(fates)
        kept = _keeps(found, plan)
        right = [vote for vote, one in zip(votes, fates, strict=True) if one is Fate.RIGHT]
        accepted = right if kept and plan.unhinted else []
        hints = hinted.get(subject, ())[:1] if kept and plan.hint else ()
        hint = fate(hints[0], gold) if hints else None
        taken = hints if hint is Fate.RIGHT else ()
        into.rows += [judged_row(work.judge, item, vote, gold, hinted=False) for vote in accepted]
        into.rows += [judged_row(shown, item, vote, gold, hinted=True) for vote in taken]
        into.count(item, counts_of(found, Counter(fates), len(accepted), hint, len(taken)))


def _keeps(found: Standing, plan: RftPlan) -> bool:
    return found is Standing.OPEN or plan.keep_easy


def subjects(work: Work) -> Iterator[tuple[Item, Subject, tuple[float, ...]]]:
    """What samples are about, with its gold, in the order of the items."""
    for item in work.items:
        for index, part in enumerate(parts(work.judge, item)):
            yield part, (item.id, index if work.judge.per_candidate else None), part.gold or ()
