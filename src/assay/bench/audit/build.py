"""From items to what a judge is asked in an audit. Pure: the same items, plan and judge give the same questions.

Owns: which items are taken, in which order their candidates stand, and the variants of each. Does not own: how a
variant is made (``judges.matched``, ``judges.probes``) or what the verdicts say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import Item
from assay.judges.matched import length_matched, lengthened, style_matched, styled
from assay.judges.probes import PROBES, attacked, swapped
from assay.judges.refusals import counted

from .humans import Rewards, check_annotators, labels_of, with_majority
from .names import is_own
from .plan import AuditPlan
from .tag import Tag, tagged

Refusal = Callable[[Item], str | None]
"""Why the judge cannot judge such an item; None where it can."""

_VARIANTS: tuple[tuple[Literal["order", "length", "style"], str, Callable[[Item], Item | None]], ...] = (
    ("order", "swapped", lambda item: swapped(item) if item.n > 1 else None),
    ("length", "matched", length_matched),
    ("length", "worse longer", lengthened),
    ("style", "matched", style_matched),
    ("style", "worse dressed up", styled),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """``probes``: what is asked once. ``repeats``: what is asked several times at temperature 0. ``refused``: items
    that the judge can take in no form, by id, and why. ``left``: how many items were not chosen."""

    probes: tuple[Item, ...]
    repeats: tuple[Item, ...]
    refused: Mapping[str, str]
    left: int


@dataclass(frozen=True, slots=True)
class _Chosen:
    """An item as it is judged, with its people's labels in the order of its candidates."""

    item: Item
    humans: tuple[Rewards | None, ...]
    order: tuple[int, ...]


def build(
    items: Sequence[Item], plan: AuditPlan, refusal: Refusal, own: Sequence[str] = (), *, alone: bool = False
) -> Built:
    """The questions of an audit.

    Args:
        refusal: why the judge cannot judge such an item.
        own: authors that are the judge's own model: pairs with one of them are preferred.
        alone: the judge looks at one answer at a time, and is attacked with single ones.

    Raises:
        InputError: the judge takes none of the items; a human label cannot be read, or no item has it; two questions
            have one id.
    """
    check_annotators(items, plan.annotators)
    able: list[_Chosen] = []
    refused: dict[str, str] = {}
    for item in items:
        whole = _whole(item, plan, own)
        reason = refusal(whole.item)
        forms = [whole] if reason is None else list(_one_by_one(item, plan, refusal))
        able += forms
        if not forms:
            refused[item.id] = str(reason)
    if not able:
        raise InputError(f"the judge can take none of the {len(items)} items: {counted(refused)}")
    taken = _sample(able, plan.items, plan.seed, "items")
    probes = [question for chosen in taken for question in _questions(chosen, plan, refusal)]
    if "attacks" in plan.parts:
        probes += _attacks(taken, plan, refusal, alone=alone)
    ids = {probe.id for probe in probes}
    if len(ids) < len(probes):
        twice = next(probe.id for place, probe in enumerate(probes) if probe.id in {p.id for p in probes[:place]})
        raise InputError(f"two questions of the audit have the id {twice!r}: rename the item that is called so")
    again = _sample(taken, plan.repeat_items, plan.seed, "repeats") if "repeats" in plan.parts else []
    return Built(
        probes=tuple(probes),
        repeats=tuple(_base(chosen) for chosen in again),
        refused=refused,
        left=len(able) - len(taken),
    )


def _whole(item: Item, plan: AuditPlan, own: Sequence[str]) -> _Chosen:
    """The item as a pair where it has a better and a worse answer, else as it is."""
    humans = labels_of(item, plan.annotators)
    labelled = with_majority(item, humans)
    order = _order(labelled, plan.seed, own)
    shown = tuple(one and tuple(one[place] for place in order) for one in humans)
    return _Chosen(labelled.picked(order), shown, order)


def _one_by_one(item: Item, plan: AuditPlan, refusal: Refusal) -> Iterator[_Chosen]:
    """The answers of the item that the judge takes on their own."""
    humans = labels_of(item, plan.annotators)
    labelled = with_majority(item, humans)
    for place in range(labelled.n):
        alone = labelled.only(place)
        if labelled.n > 1:
            alone = replace(alone, id=f"{item.id}/{place + 1}")
        if refusal(alone) is None:
            yield _Chosen(alone, tuple(one and (one[place],) for one in humans), (place,))


def _order(item: Item, seed: int, own: Sequence[str]) -> tuple[int, ...]:
    """Which candidates are shown, and in which order: drawn by content, so that no place belongs to the better one."""
    gold = item.gold
    places = list(range(item.n))
    if item.n > 2 and gold is not None and min(gold) < max(gold):
        top = [place for place in places if gold[place] == max(gold)]
        pairs = [(one, other) for one in top for other in places if gold[other] < gold[one]]
        mixed = [pair for pair in pairs if sum(is_own(item.candidates[place].author, own) for place in pair) == 1]
        places = list(min(mixed or pairs, key=lambda pair: _hash(item, seed, f"pair {pair}")))
    return tuple(sorted(places, key=lambda place: _hash(item, seed, f"place {item.candidates[place].text}")))


def _sample(items: Sequence[_Chosen], most: int, seed: int, purpose: str) -> list[_Chosen]:
    """At most so many of them, by content, in their own order."""
    ranked = sorted(range(len(items)), key=lambda place: _hash(items[place].item, seed, purpose))
    return [items[place] for place in sorted(ranked[:most])]


def _questions(chosen: _Chosen, plan: AuditPlan, refusal: Refusal) -> Iterator[Item]:
    item = chosen.item
    yield _base(chosen)
    for family, variant, make in _VARIANTS:
        other = make(item) if family in plan.parts else None
        if other is not None and refusal(other) is None:
            yield tagged(other, Tag(of=item.id, family=family, variant=variant, n=other.n))


def _base(chosen: _Chosen) -> Item:
    item = chosen.item
    return tagged(item, Tag(of=item.id, family="base", n=item.n, humans=chosen.humans, order=chosen.order))


def _attacks(taken: Sequence[_Chosen], plan: AuditPlan, refusal: Refusal, *, alone: bool) -> Iterator[Item]:
    for chosen in _sample(taken, plan.attack_items, plan.seed, "attacks"):
        for probe in PROBES:
            paired = attacked(chosen.item, probe, alone=alone or chosen.item.n == 1)
            if paired is None:
                continue
            # Before the good answer as often as behind it: a judge that likes a place is not taken for a fooled one.
            first = int(_hash(paired, plan.seed, "attack")[0], 16) % 2 == 0 and paired.n > 1
            shown = replace(swapped(paired), id=paired.id) if first else paired
            place = 0 if first else shown.n - 1
            if refusal(shown) is None:
                yield tagged(shown, Tag(of=chosen.item.id, family="attack", variant=probe.name, n=shown.n, place=place))


def _hash(item: Item, seed: int, purpose: str) -> str:
    """Follows from what is asked and answered: neither from the id nor from the order of the candidates."""
    asked = [[message.role, message.text] for message in item.messages]
    return digest(["audit", seed, purpose, asked, sorted(candidate.text for candidate in item.candidates)])
