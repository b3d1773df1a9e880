"""Preference data as examples: pairs of answers (bt), of answers with critiques (cloud), both in one text (pairrm)."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import Item
from assay.data import FieldMap, load_items, read_results
from assay.data.canonical import item_from_row
from assay.data.preference import preference_items
from assay.data.records import BadRecord, Record
from assay.data.sources import open_source
from assay.judges.pairrm import PairPrompt
from assay.judges.replies import critique_prompt, reply_prompt

from .config import HeadConfig
from .examples import LabelledExample, PairExample, Taken, TextEncoder, prompt_of

log = logging.getLogger(__name__)

Critiques: TypeAlias = "Sequence[str]"
"""Of each candidate of an item."""

EQUAL, BAD, LONG, SAME, UNCRITICISED = (
    "items whose candidates have equal gold",
    "rows that are no items",
    "longer than max_length",
    "pairs of equal texts",
    "candidates without a critique of their own",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """An item with one set of critiques."""

    item: Item
    critiques: Critiques = ()


def take_preferences(config: HeadConfig, source: str, encoder: TextEncoder) -> Taken:
    """The examples of a source, for kinds bt, pairrm and cloud.

    Raises:
        InputError: it cannot be read, lacks a field, or holds no pair with a better answer.
    """
    taken = Taken()
    for judged in _cloud_items(config, source, taken) if config.kind == "cloud" else _items(config, source, taken):
        for better, worse in _pairs(judged.item, config, taken):
            if config.kind == "pairrm":
                _take_labelled(judged.item, better, worse, config, encoder, taken)
            else:
                _take_pair(judged, better, worse, config, encoder, taken)
    if not taken.pairs and not taken.labelled:
        told = ", ".join(f"{count} {why}" for why, count in taken.left_out.items()) or "it holds no items"
        raise InputError(f"{source!r} gives no pair of a better and a worse answer: {told}")
    return taken


def _items(config: HeadConfig, source: str, taken: Taken) -> Iterator[_Judged]:
    """Raises InputError: no row at all is an item; names the first reason."""
    bad: BadRecord | None = None
    good = 0
    for item in preference_items(source, FieldMap.parse(config.field) if config.field else None):
        if isinstance(item, BadRecord):
            bad = bad or item
            _leave_out(item, source, taken)
        else:
            good += 1
            yield _Judged(item=item)
    if not good and bad is not None:
        raise InputError(f"no row of {source!r} becomes an item: line {bad.line}: {bad.reason}")


def _leave_out(bad: BadRecord, source: str, taken: Taken) -> None:
    """Counted, and the first one named."""
    if not taken.left_out[BAD]:
        log.warning("%r, line %d: %s (%s are left out and counted)", source, bad.line, bad.reason, BAD)
    taken.left_out[BAD] += 1


def _pairs(item: Item, config: HeadConfig, taken: Taken) -> list[tuple[int, int]]:
    """(better, worse), all of them or ``max_pairs`` drawn."""
    gold = item.gold or ()
    pairs = [(a, b) for a in range(item.n) for b in range(item.n) if gold[a] > gold[b]]
    taken.left_out[EQUAL] += not pairs
    if len(pairs) <= config.max_pairs:
        return pairs
    return sorted(_draw(config, item, "pairs").sample(pairs, config.max_pairs))


def _take_pair(
    judged: _Judged, better: int, worse: int, config: HeadConfig, encoder: TextEncoder, taken: Taken
) -> None:
    item = judged.item

    def prompt(index: int) -> Any:
        if config.kind == "bt":
            return reply_prompt(item, index)
        return critique_prompt(item, index, judged.critiques[index], language=config.language)

    chosen, rejected = (encoder.encode(prompt(index), f"item {item.id!r}") for index in (better, worse))
    if chosen is None or rejected is None:
        taken.left_out[LONG] += 1
    elif chosen == rejected:
        taken.left_out[SAME] += 1
    else:
        gold = item.gold or ()
        margin = gold[better] - gold[worse] if config.margin == "gold" else 0.0
        taken.pairs.append(PairExample(chosen=chosen, rejected=rejected, margin=margin, prompt=prompt_of(item)))


def _take_labelled(item: Item, better: int, worse: int, config: HeadConfig, encoder: TextEncoder, taken: Taken) -> None:
    """Both answers in one text, in an order that is drawn: the label says whether the better one stands first."""
    if item.candidates[better].text == item.candidates[worse].text:
        taken.left_out[SAME] += 1
        return
    first = _draw(config, item, f"order {better} {worse}").random() < 0.5
    order = (better, worse) if first else (worse, better)
    ids = encoder.encode(PairPrompt(language=config.language).build(item, *order), f"item {item.id!r}")
    if ids is None:
        taken.left_out[LONG] += 1
        return
    taken.labelled.append(LabelledExample(ids=ids, label=float(first), prompt=prompt_of(item)))


def _draw(config: HeadConfig, item: Item, purpose: str) -> random.Random:
    """From content alone: equal items are drawn alike, wherever they stand."""
    return random.Random(digest([config.seed, purpose, prompt_of(item), [c.text for c in item.candidates]]))


def _cloud_items(config: HeadConfig, source: str, taken: Taken) -> Iterator[_Judged]:
    first = next((r for r in open_source(source).records if isinstance(r, Record)), None)
    if first is not None and {"item_id", "judge", "outcome"} <= first.row.keys():
        yield from _from_results(source, taken)
        return
    paths = tuple(path.strip() for path in config.critiques.split(","))
    fields = FieldMap.parse((*config.field, f"metadata={','.join(paths)}"))
    found = load_items(source, fields, need=("candidates", "gold"))
    for bad in found.bad:
        _leave_out(bad, source, taken)
    for item in found.items:
        critiques = _said(item.metadata, paths)
        if len(critiques) == item.n and all(text.strip() for text in critiques):
            yield _Judged(item=item, critiques=critiques)
        else:
            taken.left_out[UNCRITICISED] += item.n


def _said(metadata: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    values = [metadata.get(path) for path in paths]
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in flat if isinstance(one, str)]


def _from_results(source: str, taken: Taken) -> Iterator[_Judged]:
    """Votes of a judge that looks at each candidate on its own: vote v of all candidates is one set of critiques."""
    items: dict[str, Item] = {}
    texts: dict[tuple[str, int], dict[int, str]] = {}
    for row in read_results(source):
        if row.candidate is None or not row.item or not row.ok or not row.text.strip():
            taken.left_out[UNCRITICISED] += 1
            continue
        items.setdefault(row.item_id, item_from_row(row.item))
        texts.setdefault((row.item_id, row.vote), {})[row.candidate] = row.text
    for (name, _), said in sorted(texts.items()):
        item = items[name]
        if item.gold is not None and len(said) == item.n:
            yield _Judged(item=item, critiques=[said[index] for index in range(item.n)])
        else:
            taken.left_out[UNCRITICISED] += item.n
