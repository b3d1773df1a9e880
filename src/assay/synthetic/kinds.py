"""The table of kinds. To add one, write its file and name it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from assay.core.errors import InputError
from assay.judges.shield import Language

from .answers import (
    algebra,
    asked,
    big,
    calendar,
    choice,
    clock,
    date,
    decimal,
    fact,
    fraction,
    integer,
    interval,
    money,
    name,
    percent,
    ratio,
    sets,
    surd,
    tuples,
    units,
    yesno,
)
from .answers.assemble import maker
from .answers.case import MakeCase
from .instructions import assemble as follow
from .instructions import counts, edges, letters, structure, wording
from .instructions.demand import MakeDemand
from .problems.assemble import equation, word_problem
from .record import Kind

BOTH: tuple[Language, ...] = ("en", "zh")


def _answers(name: str, case: MakeCase) -> Kind:
    return Kind(name=name, group="answers", languages=BOTH, reference=True, make=maker(name, case))


_ANYWHERE = (counts.words, counts.sentences, wording.forbidden, wording.keyword, edges.begin, edges.end, letters.commas)
"""Demands that may stand beside others, in both languages."""


def _instruction(name: str, demand: MakeDemand, languages: tuple[Language, ...] = BOTH) -> Kind:
    make = follow.maker(demand, [one for one in _ANYWHERE if one is not demand])
    return Kind(name=name, group="instructions", languages=languages, reference=False, make=make)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            _answers(integer.KIND, integer.case),
            _answers(decimal.KIND, decimal.case),
            _answers(fraction.KIND, fraction.case),
            _answers(percent.KIND, percent.case),
            _answers(money.KIND, money.case),
            _answers(units.KIND, units.case),
            _answers(big.KIND, big.case),
            _answers(date.KIND, date.case),
            _answers(clock.KIND, clock.case),
            _answers(ratio.KIND, ratio.case),
            _answers(tuples.KIND, tuples.case),
            _answers(sets.KIND, sets.case),
            _answers(choice.KIND, choice.case),
            _answers(yesno.KIND, yesno.case),
            _answers(name.KIND, name.case),
            _answers(algebra.KIND, algebra.case),
            _answers(surd.KIND, surd.case),
            _answers(interval.KIND, interval.case),
            _answers(asked.KIND, asked.case),
            _answers(calendar.KIND, calendar.case),
            _answers(fact.KIND, fact.case),
            Kind(name="word-problem", group="problems", languages=BOTH, reference=True, make=word_problem),
            Kind(name="equation", group="problems", languages=BOTH, reference=True, make=equation),
            _instruction("words", counts.words),
            _instruction("sentences", counts.sentences),
            _instruction("paragraphs", counts.paragraphs, ("en",)),
            _instruction("bullets", counts.bullets),
            _instruction("numbered", counts.numbered),
            _instruction("forbidden", wording.forbidden),
            _instruction("keyword", wording.keyword),
            _instruction("letter", wording.letter, ("en",)),
            _instruction("begin", edges.begin),
            _instruction("end", edges.end),
            _instruction("postscript", edges.postscript, ("en",)),
            _instruction("title", edges.title),
            _instruction("quoted", edges.quoted, ("en",)),
            _instruction("lowercase", letters.lowercase, ("en",)),
            _instruction("uppercase", letters.uppercase, ("en",)),
            _instruction("commas", letters.commas),
            _instruction("highlight", letters.highlight),
            _instruction("json", structure.json_object),
            _instruction("order", structure.in_order),
        )
    }
)
"""Every kind by its name."""


def kinds_named(names: Iterable[str]) -> tuple[Kind, ...]:
    """The kinds that ``names`` name: kinds, or whole groups; all of them where it names none.

    ``fraction:3`` is named three times, so that a sequence holds three shares of it; the last name of a kind counts.

    Raises:
        InputError: there is no such kind or group, or the shares are no number from 1 on.
    """
    found: dict[str, int] = {}
    for each in names:
        wanted, colon, shares = each.partition(":")
        own = [kind for kind in KINDS.values() if wanted in (kind.name, kind.group)]
        if not own:
            groups = dict.fromkeys(kind.group for kind in KINDS.values())
            raise InputError(f"no kind {wanted!r} of generated items; there are {', '.join([*groups, *KINDS])}")
        if colon and (not shares.isdecimal() or shares.lstrip("0") == ""):
            raise InputError(f"kind {each!r}: the shares behind the colon must be a whole number from 1 on")
        found |= {kind.name: int(shares or 1) for kind in own}
    return tuple(KINDS[name] for name, many in (found or dict.fromkeys(KINDS, 1)).items() for _ in range(many))
