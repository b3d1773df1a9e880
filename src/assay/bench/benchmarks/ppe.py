"""PPE, Preference Proxy Evaluations (Frick et al. 2025, arXiv 2410.14872): human preference, and correctness.

Both are accuracies over pairs; a tie of the judge is wrong. The official code was not at hand when this was written:
that rows without a winner are dropped, and that a tie is wrong, is our reading of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from assay.core.types import Item
from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord
from assay.data.rows import RowError

from ..benchmark import Benchmark, Source, UnitsRead
from ..counting import Counting
from ..credit import credit
from ..measure import Cases, Measured
from ..parts import accuracy, mean, ordered, percent, right
from ..reading import LeftOut, item_of, pair_of, read_units
from ..score import Part, Score
from ..unit import Judged, Unit

HUMAN = "human"
SETS = ("mmlu_pro", "math", "gpqa", "mbpp_plus", "ifeval")
_HUB = {"mmlu_pro": "MMLU-Pro", "math": "MATH", "gpqa": "GPQA", "mbpp_plus": "MBPP-Plus", "ifeval": "IFEval"}
_ANSWERS = ("response_1", "response_2")
_HUMAN = FieldMap(
    prompt="prompt", candidates=_ANSWERS, gold=("winner",), id="question_id", metadata=("language", "is_code")
)


def human_units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is a pair; one without a winner (tie, both bad) is left out."""
    return read_units(records, file, _human)


def _human(row: Mapping[str, Any], fallback: str) -> tuple[Unit]:
    if row.get("winner") not in ("model_a", "model_b"):
        raise LeftOut("no winner (tie)")
    item = item_of(row, _HUMAN, fallback, row.get("model_a"), row.get("model_b"))
    return (Unit(item=item, subset=HUMAN, case=item.id),)


def human_measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """1 if the answer that the human preferred wins."""
    return right(judged, credit(judged[0], counting))


def human_combine(cases: Mapping[str, Cases]) -> Score:
    """The share of pairs that are right."""
    parts = tuple(accuracy(name, cases[name]) for name in ordered(cases, (HUMAN,)))
    return Score(value=mean(part.value for part in parts), parts=parts)


def correctness_units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is a question with its sampled pairs of a right and a wrong response: one case, as they share responses.

    The set is told by the file's name (``mmlu_pro_best_of_k``); an unknown name is a set of its own.
    """
    name = set_of(file)
    return read_units(records, file, lambda row, fallback: _correctness(row, fallback, name))


def set_of(file: str) -> str:
    """The set that a file holds."""
    stem = file.rsplit("/", 1)[-1].split(".")[0]
    folded = re.sub(r"[^a-z]+", "_", stem.lower()).removeprefix("ppe_")
    return next((one for one in SETS if folded.startswith(one)), stem)


def question_of(row: Mapping[str, Any], fallback: str) -> Item:
    """A question with all of its responses, and which are right; a model that wrote them all is their author.

    Raises:
        RowError: something needed is absent or of the wrong kind.
    """
    answers = tuple(sorted((key for key in row if re.fullmatch(r"response_\d+", key)), key=lambda key: int(key[9:])))
    fields = FieldMap(prompt="prompt", candidates=answers, gold=("scores",), id="question_id", metadata=())
    return item_of(row, fields, fallback, *[row.get("model_name")] * len(answers))


def _correctness(row: Mapping[str, Any], fallback: str, name: str) -> tuple[Unit, ...]:
    item = question_of(row, fallback)
    pairs = row.get("sampled_conflict_pairs")
    if not isinstance(pairs, list):
        raise RowError(f"'sampled_conflict_pairs' must be a list of pairs, not {pairs!r:.80}")
    if not pairs:
        raise LeftOut("no pair of a right and a wrong response")
    case = f"{name}/{item.id}"
    made: list[Unit] = []
    for place, pair in enumerate(cast("list[Any]", pairs)):
        better, worse = by_gold(pair, item.gold or ())
        one = pair_of(item, better, worse, f"{case}/{place}")
        made.append(Unit(item=one, subset=name, case=case, units_of_case=len(pairs)))
    return tuple(made)


def by_gold(pair: Any, gold: Sequence[float]) -> tuple[int, int]:
    """A conflict pair's indices, that of the right response first.

    Raises:
        RowError: it is no pair of indices, or both are equally right.
    """
    values = cast("list[Any]", pair) if isinstance(pair, list | tuple) else []
    if len(values) != 2 or not all(isinstance(index, int) and 0 <= index < len(gold) for index in values):
        raise RowError(f"a conflict pair must be two indices below {len(gold)}, not {pair!r:.80}")
    first, second = int(values[0]), int(values[1])
    if gold[first] == gold[second]:
        raise RowError(f"the responses of the conflict pair {pair!r} are equally right: {gold[first]:g}")
    return (first, second) if gold[first] > gold[second] else (second, first)


def correctness_measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """How many of the question's pairs are right; excluded failures leave the pairs that are there."""
    found = [value for one in judged if (value := credit(one, counting)) is not None]
    unit = judged[0].unit
    if not found:
        return None
    return Measured(case=unit.case, subset=unit.subset, values={"right": sum(found), "pairs": float(len(found))})


def correctness_combine(cases: Mapping[str, Cases]) -> Score:
    """Right pairs by all pairs of a set; the mean of the sets."""
    parts = tuple(
        Part(name=name, value=percent(cases[name].ratio("right", "pairs")), n=int(cases[name].total("pairs")))
        for name in ordered(cases, SETS)
    )
    return Score(value=mean(part.value for part in parts), parts=parts)


PPE_PREFERENCE = Benchmark(
    name="ppe-preference",
    title="PPE Preference",
    license="prompts CC-BY-4.0, outputs under their providers' terms",
    about="pairs with a human's preference; rows without a winner are left out; accuracy",
    kind="pair",
    subsets=(HUMAN,),
    sources=(Source(hub="lmarena-ai/PPE-Human-Preference-V1", split="test"),),
    files=("*human*", "*test*"),
    units=human_units,
    measure=human_measure,
    combine=human_combine,
)
PPE_CORRECTNESS = Benchmark(
    name="ppe-correctness",
    title="PPE Correctness",
    license="prompts CC-BY-4.0, outputs under their providers' terms",
    about="pairs of a right and a wrong response to verifiable questions; mean accuracy of five sets",
    kind="pair",
    subsets=SETS,
    sources=tuple(
        Source(hub=f"lmarena-ai/PPE-{_HUB[name]}-Best-of-K", split="train", file=f"{name}_best_of_k") for name in SETS
    ),
    files=("*best_of_*", "*best-of-*", "*Best-of-*"),
    units=correctness_units,
    measure=correctness_measure,
    combine=correctness_combine,
)
