"""Recorded judgments as examples of a meta RM: the judge's text, labelled by whether its verdict is right (eq. 10)."""

from __future__ import annotations

from assay.core.errors import InputError
from assay.core.types import Item
from assay.data import ResultRow, read_results
from assay.data.canonical import item_from_row
from assay.judges.meta import MetaPrompt
from assay.voting.correct import gold_best, is_correct

from .config import HeadConfig
from .examples import LabelledExample, Taken, TextEncoder, prompt_of

FAILED, NO_GOLD, TIED, NO_ITEM, LONG = (
    "votes without a verdict",
    "votes on items without gold",
    "votes on items without a single best candidate",
    "votes without their item or text",
    "longer than max_length",
)


def take_judgments(config: HeadConfig, source: str, encoder: TextEncoder) -> Taken:
    """The votes of a result file of ``assay judge`` (or of ``assay rft``), each shown as ``MetaScorer`` shows it.

    Args:
        source: a file, or several with commas between them.

    A vote without a verdict is no example: a meta RM is never asked about one.

    Raises:
        InputError: it is no result file; no vote can be labelled; all labels are equal, so that nothing can be learned.
    """
    taken, prompt = Taken(), MetaPrompt(language=config.language)
    for row in (row for one in source.split(",") for row in read_results(one)):
        label = _label(row, taken)
        if label is None:
            continue
        item = _shown(row)
        if item is None or not row.text.strip():
            taken.left_out[NO_ITEM] += 1
            continue
        built = prompt.build(item, row.order, row.text)
        ids = encoder.encode(built, f"{source!r}, item {row.item_id!r}, vote {row.vote}")
        if ids is None:
            taken.left_out[LONG] += 1
        else:
            taken.labelled.append(LabelledExample(ids=ids, label=float(label), prompt=prompt_of(item)))
    _check(source, taken)
    return taken


def _label(row: ResultRow, taken: Taken) -> bool | None:
    """Whether the vote is right; None, and counted, where that cannot be said."""
    gold, scores = row.own_gold, row.ranking
    if scores is None:
        taken.left_out[FAILED] += 1
    elif not gold or len(gold) != len(scores):
        taken.left_out[NO_GOLD] += 1
    elif len(gold) > 1 and gold_best(gold) is None:
        taken.left_out[TIED] += 1
    else:
        return is_correct(scores, gold)
    return None


def _shown(row: ResultRow) -> Item | None:
    """The item with the candidates that the vote is about; None where the file does not hold it."""
    if not row.item:
        return None
    item = item_from_row(row.item)
    if item.n != len(row.order) and row.candidate is not None and row.candidate < item.n:
        item = item.only(row.candidate)
    return item if item.n == len(row.order) else None


def _check(source: str, taken: Taken) -> None:
    told = ", ".join(f"{count} {why}" for why, count in taken.left_out.items() if count)
    if not taken.labelled:
        raise InputError(f"{source!r} holds no vote that can be labelled right or wrong: {told or 'it has no votes'}")
    labels = {example.label for example in taken.labelled}
    if len(labels) == 1:
        all_are = "right" if labels == {1.0} else "wrong"
        raise InputError(
            f"all {len(taken.labelled)} votes of {source!r} are {all_are}, so there is nothing to tell apart: judge "
            "harder (or easier) items, or at a higher temperature"
        )
