"""Items to audit a judge with: the bundled questions, a file of any known shape, or the PandaLM test set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice

from assay.core.errors import InputError
from assay.core.types import Item
from assay.data import BadRecord, FieldMap, Record, load_items, open_source
from assay.data.demo import load_demo

from .humans import is_pandalm, pandalm_items

DEMO = "the bundled questions"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditItems:
    """``name``: what they are called. ``told``: how their rows were understood."""

    name: str
    told: str
    items: tuple[Item, ...]
    bad: tuple[BadRecord, ...] = ()


def audit_items(source: str | None, fields: FieldMap) -> AuditItems:
    """The items of a source; without one the bundled questions.

    Raises:
        InputError: as ``data.load_items``.
    """
    if source is None:
        return AuditItems(name=DEMO, told="candidates, reference, gold", items=load_demo())
    if fields == FieldMap():
        opened = open_source(source)
        head = list(islice(opened.records, 1))
        if head and isinstance(head[0], Record) and is_pandalm(head[0].row):
            items, bad = pandalm_items(chain(head, opened.records))
            if not items:
                raise InputError(f"no row of {opened.name!r} becomes an item: line {bad[0].line}: {bad[0].reason}")
            return AuditItems(name=opened.name, told="PandaLM: three human labels a pair", items=items, bad=bad)
    found = load_items(source, fields)
    return AuditItems(name=found.name, told=f"{found.shape}: {found.fields}", items=found.items, bad=found.bad)
