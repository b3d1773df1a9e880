"""ReaLMistake (Kamoi et al. 2024, arXiv 2404.03602): one response, does it hold an error? Here: area under the ROC
curve.

The score of a response should be high where there is no error. A failed judgment counts as the worst score that it
could be, unless the rule for failures excludes it. The mean over the six files (task x model) is the score; the pooled
area and the mean over tasks stand beside it, as the DeepSeek-GRM paper does not say which it reports. Measures of
ReaLMistake itself, accuracy, precision, recall and F1 of finding errors, are in ``error_detection``.

The authors ask that no text of it stand in the open: it is read out of their archive in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.data.fieldmap import FieldMap
from assay.data.records import AnyRecord
from assay.data.rows import RowError

from ..benchmark import Benchmark, UnitsRead
from ..counting import Counting
from ..measure import Cases, Measured
from ..parts import mean, ordered, percent
from ..reading import item_of, known_subset, read_units
from ..score import Part, Score
from ..single import single_values
from ..unit import Judged, Unit
from .error_detection import CLASSES, detected, tables

TASKS = ("math_word_problem_generation", "finegrained_fact_verification", "answerability_classification")
MODELS = ("gpt-4-0613", "Llama-2-70b-chat-hf")
SUBSETS = tuple(f"{task}/{model}" for task in TASKS for model in MODELS)
_TASK_NAMES = {"math_problem_generation": "math_word_problem_generation"}
"""The rows call one of the tasks by another name than its folder."""
_FIELDS = FieldMap(prompt="input", candidates=("llm_response",), gold=("error_label",), id="metadata.id", metadata=())


def units(records: Iterable[AnyRecord], file: str) -> UnitsRead:
    """A row is one response with gold 1 (no error) or 0."""
    return read_units(records, file, _unit)


def _unit(row: Mapping[str, Any], fallback: str) -> tuple[Unit]:
    told = row.get("metadata")
    if not isinstance(told, Mapping):
        raise RowError("'metadata' must be an object with task_name and llm_response_model")
    task, model = str(told.get("task_name")), str(told.get("llm_response_model")).rsplit("/", 1)[-1]
    subset = known_subset(f"{_TASK_NAMES.get(task, task)}/{model}", SUBSETS, "task and model")
    item = item_of(row, _FIELDS, fallback, told.get("llm_response_model"))
    return (Unit(item=item, subset=subset, case=item.id, facts={CLASSES: _classes(row)}),)


def _classes(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The classes of error that the annotators named; a file without them has none."""
    named = row.get(CLASSES)
    return tuple(one for one in named if isinstance(one, str)) if isinstance(named, list) else ()


def measure(judged: Sequence[Judged], counting: Counting) -> Measured | None:
    """The score of the response and whether it is good; whether an error was seen in it."""
    values = single_values(judged[0], counting)
    unit = judged[0].unit
    if values is None:
        return None
    found = detected(values, unit.facts[CLASSES], counting.threshold)
    return Measured(case=unit.case, subset=unit.subset, values={**values, **found})


def combine(cases: Mapping[str, Cases]) -> Score:
    """The mean of the areas of the files; beside it, pooled and by task; error detection as tables."""
    parts = tuple(_area(name, cases[name]) for name in ordered(cases, SUBSETS))
    tasks = {task: [own for name, own in cases.items() if name.startswith(f"{task}/")] for task in TASKS}
    by_task = [Cases.pooled(own).auc("score", "good") for own in tasks.values() if own]
    pooled = Cases.pooled(cases.values()).auc("score", "good") if cases else None
    beside = {"pooled": percent(pooled), "mean of tasks": percent(mean(by_task))}
    return Score(
        value=mean(part.value for part in parts), parts=parts, beside=beside, tables=tables(cases, TASKS, MODELS)
    )


def _area(name: str, cases: Cases) -> Part:
    return Part(name=name, value=percent(cases.auc("score", "good")), n=cases.count)


REALMISTAKE = Benchmark(
    name="realmistake",
    title="ReaLMistake",
    license="CC BY-SA 4.0; the authors ask that it not be put online in plain text",
    about="one response, is there an error in it? area under the ROC curve, mean of six files",
    kind="single",
    subsets=SUBSETS,
    files=tuple(f"*{subset}.jsonl" for subset in SUBSETS),
    password="open-realmistake",
    private_text=True,
    units=units,
    measure=measure,
    combine=combine,
)
