"""What is asked so that every unit has an answer: each question once, also where several units share it. Pure.

A judge that looks at one candidate at a time scores a candidate once, in however many pairs it stands (PPE: 32
responses in many pairs, RM-Bench: six answers in nine).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.core.errors import InputError
from assay.core.types import Item
from assay.judges.base import Judge, content_hash
from assay.judges.parts import parts
from assay.judges.refusals import counted
from assay.scoring.runfile import Subject

from ..standing import Place, with_places
from ..unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """``items``: by what a run calls them, in the order of the units."""

    items: Mapping[str, Item]
    subjects: Mapping[str, tuple[Subject, ...]]
    """Unit -> the judgments that make up its answer: one, or one for each candidate."""
    subset: Mapping[Subject, str]
    """Judgment -> the subset of the unit that it was first needed for."""
    refused: Mapping[str, str]
    """Units that the judge cannot take, and why."""


def what_to_ask(units: Sequence[Unit], judge: Judge) -> Asked:
    """The items to judge, and which judgments each unit's answer comes from.

    Raises:
        InputError: the judge can take none of the units.
    """
    items: dict[str, Item] = {}
    subjects: dict[str, tuple[Subject, ...]] = {}
    subset: dict[Subject, str] = {}
    refused: dict[str, str] = {}
    known: dict[str, Subject] = {}
    places: dict[str, list[Place]] = defaultdict(list)
    for unit in units:
        name = unit.item.id
        # So that whoever reads the votes alone knows what they count for.
        item = replace(unit.item, metadata={**unit.item.metadata, "subset": unit.subset})
        try:
            hashes = [content_hash(judge, piece) for piece in parts(judge, item)]
        except InputError as error:
            refused[name] = str(error)
            continue
        if not judge.per_candidate:
            items[name] = item
            subjects[name] = ((name, None),)
        else:
            for place, content in enumerate(hashes):
                if content not in known:
                    known[content] = (f"{name}#{place}", 0)
                    items[f"{name}#{place}"] = replace(item.only(place), id=f"{name}#{place}")
            subjects[name] = tuple(known[content] for content in hashes)
            for place, (asked, _) in enumerate(subjects[name]):
                gold = None if item.gold is None else item.gold[place]
                places[asked].append(Place(unit=name, subset=unit.subset, place=place, of=item.n, gold=gold))
        for subject in subjects[name]:
            subset.setdefault(subject, unit.subset)
    if not items:
        told = counted(refused) or "there are none"
        raise InputError(f"judge {judge.name!r} can take none of the {len(units)} questions: {told}")
    items |= {name: with_places(items[name], found) for name, found in places.items()}
    return Asked(items=items, subjects=subjects, subset=subset, refused=refused)


def first_cases(units: Sequence[Unit], most: int | None) -> tuple[Unit, ...]:
    """The units of the first ``most`` cases of each subset; None = all of them."""
    if most is None:
        return tuple(units)
    taken: dict[str, dict[str, None]] = defaultdict(dict)
    for unit in units:
        cases = taken[unit.subset]
        if unit.case in cases or len(cases) < most:
            cases[unit.case] = None
    return tuple(unit for unit in units if unit.case in taken[unit.subset])
