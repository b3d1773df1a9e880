"""RMB (Zhou et al. 2024, arXiv 2410.09893): helpfulness and harmlessness, as pairs and as best of n.

A pair is right if the chosen answer scores strictly above the other, a best-of-n list only if the best answer beats
every loser. ``rmb`` asks a list at once, ``rmb-pairs`` as n-1 pairs, as the benchmark's own baselines do. The
official script prints accuracies a file and adds nothing up: that a group counts all its cases alike, and that the
score is the mean of the four groups (which is how DeepSeek-GRM reports it), is not in it.

The data has no licence on GitHub, so nothing of it comes along: clone Zhou-Zoey/RMB-Reward-Model-Benchmark and name its
folder ``RMB_dataset``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.types import Item, Message
from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord
from assay.data.rows import RowError

from ..benchmark import Benchmark, UnitsRead
from ..counting import Counting
from ..credit import credit
from ..measure import Cases, Measured
from ..parts import mean_of_subsets, right
from ..reading import item_of, pair_of, read_units
from ..score import Score
from ..unit import Judged, Unit

GROUPS = ("Help_BoN", "Help_Pair", "Harm_BoN", "Harm_Pair")
_PAIR = FieldMap(
    prompt="conversation_input", chosen=("chosen",), rejected=("reject",), id="pair_uid", metadata=("category_path",)
)
_BON = FieldMap(
    prompt="conversation_input", chosen=("bon_best",), rejected=("loser_list",), id="bon_uid",
    metadata=("category_path",),
)  # fmt: skip


def units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is a pair (``pair_uid``) or a list (``bon_uid``), the best answer first."""
    return read_units(records, file, lambda row, fallback: (_whole(row, fallback, file),))


def units_as_pairs(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """As ``units``, a list as one pair for each loser, all of one case."""
    return read_units(records, file, lambda row, fallback: _split(_whole(row, fallback, file)))


def _whole(row: Mapping[str, Any], fallback: str, file: str) -> Unit:
    bon = "bon_best" in row
    path = row.get("category_path")
    group = _group(str(path) if path else file, "BoN" if bon else "Pair")
    item = item_of(row, _BON if bon else _PAIR, fallback)
    item = replace(item, id=f"{group}/{item.id}", messages=_plain(item))
    return Unit(item=item, subset=group, case=item.id)


def _group(path: str, form: str) -> str:
    for word, short in (("Helpfulness", "Help"), ("Harmlessness", "Harm")):
        if word in path:
            return f"{short}_{form}"
    raise RowError(f"neither 'category_path' nor the file says Helpfulness or Harmlessness: {path!r:.80}")


def _plain(item: Item) -> tuple[Message, ...]:
    if not item.messages or item.messages[-1].role != "user":
        raise RowError("the conversation must end with a turn of the user")
    return item.messages


def _split(unit: Unit) -> tuple[Unit, ...]:
    if unit.item.n == 2:
        return (unit,)
    return tuple(
        replace(unit, item=pair_of(unit.item, 0, loser, f"{unit.item.id}/{loser}"), units_of_case=unit.item.n - 1)
        for loser in range(1, unit.item.n)
    )


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """1 if the best answer wins every question of the case; a rule that shares ties multiplies the shares."""
    worth = 1.0
    for one in judged:
        value = credit(one, counting)
        if value is None:
            return None
        worth *= value
    return right(judged, worth)


def combine(cases: Mapping[str, Cases]) -> Score:
    """The mean of the groups that are there."""
    return mean_of_subsets(cases, GROUPS)


RMB = Benchmark(
    name="rmb",
    title="RMB",
    license="none given",
    about="helpfulness and harmlessness, pairs and best-of-n lists (each asked at once); mean of the four groups",
    kind="list",
    subsets=GROUPS,
    files=("*BoN_set/*.json", "*Pairwise_set/*.json"),
    units=units,
    measure=measure,
    combine=combine,
)
RMB_PAIRS = replace(
    RMB,
    name="rmb-pairs",
    title="RMB (lists as pairs)",
    about="as rmb, a best-of-n list as n-1 pairs that must all be right",
    kind="pair",
    units=units_as_pairs,
)
