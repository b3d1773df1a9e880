"""JudgeBench (Tan et al. 2024, arXiv 2410.12784): pairs of responses of one model, each asked in both orders.

A game that the labelled response wins counts +1, one that the other wins -1, a tie or a failure 0; a pair is right if
the sum is positive. So win and tie is right, and so is win and failure; win and loss is not. A scalar reward model
needs one order only. Each half (responses by GPT-4o, by Claude 3.5 Sonnet) is a benchmark of its own, as published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from assay.core.seeds import derive_order
from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord
from assay.data.rows import RowError

from ..benchmark import Benchmark, Source, UnitsRead
from ..counting import Counting
from ..credit import answer_of, right_of, scores_of, tie_seed
from ..measure import Cases, Measured
from ..parts import accuracy, ordered, percent, right
from ..reading import LeftOut, item_of, known_subset, read_units
from ..score import Score
from ..unit import Answer, Judged, Unit

CATEGORIES = ("mmlu-pro", "livebench-reasoning", "livebench-math", "livecodebench")
HALVES = {"gpt": "gpt-4o-2024-05-13", "claude": "claude-3-5-sonnet-20240620"}
_FIELDS = FieldMap(
    prompt="question", candidates=("response_A", "response_B"), gold=("label",), id="pair_id", metadata=("source",)
)


def units(records: Iterable[AnyRecord], file: str, half: str) -> UnitsRead:
    """A row is a pair, A before B; the other half's rows are left out."""
    return read_units(records, file, lambda row, fallback: _unit(row, fallback, half))


def _unit(row: Mapping[str, Any], fallback: str, half: str) -> tuple[Unit]:
    author = row.get("response_model")
    if author is not None and author != HALVES[half]:
        raise LeftOut(f"responses by {author!r}")
    if row.get("label") not in ("A>B", "B>A"):
        raise RowError(f"the label must be 'A>B' or 'B>A', not {row.get('label')!r:.80}")
    source = str(row.get("source"))
    category = known_subset("mmlu-pro" if source.startswith("mmlu-pro") else source, CATEGORIES, "source")
    item = item_of(row, _FIELDS, fallback, author, author)
    return (Unit(item=item, subset=category, case=item.id),)


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """1 if the games of both orders sum up to more for the labelled response; one answer alone is one game."""
    one = judged[0]
    played = _games(one, counting)
    if any(answer.failure is not None for answer in played):
        if counting.failures == "excluded":
            return None
        if counting.failures == "strict":
            return right(judged, 0.0)
    balance = sum(_game(one.unit, answer) for answer in played)
    return right(judged, float(balance > 0) if balance else _undecided(one.unit, counting))


def _games(judged: Judged, counting: Counting) -> tuple[Answer, ...]:
    lenient = counting.failures == "lenient" and judged.lenient_by_order
    return (judged.lenient_by_order if lenient else judged.by_order) or (answer_of(judged, counting),)


def _game(unit: Unit, answer: Answer) -> int:
    if answer.failure is not None:
        return 0
    (labelled,) = right_of(unit)
    if answer.choice is not None:
        return 1 if answer.choice == labelled else -1
    scores = scores_of(unit, answer)
    return (scores[labelled] > scores[1 - labelled]) - (scores[labelled] < scores[1 - labelled])


def _undecided(unit: Unit, counting: Counting) -> float:
    """What a sum of 0 is worth: officially nothing."""
    if counting.ties == "share":
        return 0.5
    if counting.ties == "random":
        return float(derive_order(tie_seed(unit, counting), 2)[0] in right_of(unit))
    return 0.0


def combine(cases: Mapping[str, Cases]) -> Score:
    """The share of right pairs, over all of them."""
    parts = tuple(accuracy(name, cases[name]) for name in ordered(cases, CATEGORIES))
    return Score(value=percent(Cases.pooled(cases.values()).mean("right")) if cases else None, parts=parts)


def _half(half: str, name: str, files: tuple[str, ...]) -> Benchmark:
    return Benchmark(
        name=name,
        title=f"JudgeBench ({HALVES[half]})",
        license="MIT",
        about=f"pairs of responses by {HALVES[half]}, one of them correct, asked in both orders; share of right pairs",
        kind="pair",
        orders="both",
        subsets=CATEGORIES,
        sources=(Source(hub="ScalerLab/JudgeBench", split=half),),
        files=files,
        units=partial(units, half=half),
        measure=measure,
        combine=combine,
    )


JUDGEBENCH = _half("gpt", "judgebench", ("*gpt*.jsonl",))
JUDGEBENCH_CLAUDE = _half("claude", "judgebench-claude", ("*claude*.jsonl",))
