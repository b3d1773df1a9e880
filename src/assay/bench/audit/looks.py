"""From the rows of a result file to what was seen of each question of an audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.core.types import Item
from assay.data import ResultRow, item_from_row
from assay.data.decisions import judgments
from assay.judges.probe_readings import best

from .plan import Family
from .tag import Tag, read_tag


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A question and what the judge made of it: a score for every candidate in the item's order (1 and 0 where it only
    names the best one), or, with ``scores`` None, the kind of the failure."""

    item: Item
    tag: Tag
    scores: tuple[float, ...] | None
    failure: str | None

    @property
    def gold(self) -> tuple[float, ...] | None:
        return self.item.gold

    @property
    def winner(self) -> int | None:
        """The one best candidate; None for a tie or a failure."""
        return None if self.scores is None else only(self.scores)

    @property
    def right(self) -> bool | None:
        """Whether the best candidate by gold, and no other, has the highest score. None: a failure, a single candidate,
        or gold prefers no one candidate."""
        gold = self.better
        return None if self.scores is None or gold is None else self.winner == gold

    @property
    def better(self) -> int | None:
        """The one best candidate by gold, of several."""
        return None if self.gold is None or self.item.n < 2 else only(self.gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One item as it is, and its variants by family and name."""

    base: Look
    variants: dict[tuple[Family, str], Look]

    def of(self, family: Family, variant: str) -> Look | None:
        return self.variants.get((family, variant))


def only(scores: Sequence[float]) -> int | None:
    """The place of the highest score; None where several share it."""
    top = best(scores)
    return next(iter(top)) if len(top) == 1 else None


def looks(rows: Iterable[ResultRow]) -> list[Look]:
    """What was seen of every question, in the order of the rows; judgments of single candidates put together.

    A question of which a judgment is missing (the run was cut off) is not there; one with a failed one is a failure.
    """
    groups: dict[str, list[ResultRow]] = {}
    for row in judgments(rows):
        if read_tag(row.metadata) is not None:
            groups.setdefault(row.item_id, []).append(row)
    return [look for group in groups.values() if (look := _look(group)) is not None]


def seen(found: Iterable[Look]) -> list[Seen]:
    """The items as they are, each with its variants; attacks belong to no item."""
    by_item: dict[str, Seen] = {}
    others: list[Look] = []
    for look in found:
        if look.tag.family == "base":
            by_item[look.tag.of] = Seen(base=look, variants={})
        elif look.tag.family != "attack":
            others.append(look)
    for look in others:
        if look.tag.of in by_item:
            by_item[look.tag.of].variants[look.tag.family, look.tag.variant] = look
    return list(by_item.values())


def _look(group: Sequence[ResultRow]) -> Look | None:
    tag = read_tag(group[0].metadata)
    if tag is None or not group[0].item:
        return None
    if group[0].candidate is None:
        item, parts = item_from_row(group[0].item), [group[0]]
    else:
        parts = list({row.candidate: row for row in sorted(group, key=lambda row: row.candidate or 0)}.values())
        if len(parts) < tag.n:
            return None
        item = _joined([item_from_row(row.item) for row in parts])
    failed = next((row.outcome for row in parts if row.ranking is None), None)
    if failed is not None:
        return Look(item=item, tag=tag, scores=None, failure=failed)
    scores = tuple(score for row in parts for score in row.ranking or ())
    return Look(item=item, tag=tag, scores=scores, failure=None)


def _joined(parts: Sequence[Item]) -> Item:
    gold = tuple(one for part in parts for one in part.gold or ())
    candidates = tuple(candidate for part in parts for candidate in part.candidates)
    return replace(parts[0], candidates=candidates, gold=gold if len(gold) == len(candidates) else None)
