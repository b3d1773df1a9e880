"""ReaLMistake's own measures: is an error seen where there is one? Accuracy, precision, recall, F1; error is positive.

A score is no decision: an answer below the threshold is said to have an error. A failed judgment counts as
the wrong decision. Formulas as in the official ``calculate_performance.py``: F1 of each file (task x model), the mean
over the tasks of each model; a precision of nothing said is 0 there, and here. Of a class of errors, which only answers
with an error have, recall is all that there is. The official code averages over its prompts too; here there is one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..measure import Cases
from ..parts import mean, percent
from ..score import Row, Table
from ..single import GOOD, SCORE

CLASSES = "error_categories"
ERROR_CLASSES = ("Reasoning Correctness", "Instruction-Following", "Context-Faithfulness", "Parameterized Knowledge")
DETECTION, BY_CLASS = "error detection", "recall by class of error"
_CAUGHT, _ALARM = "caught", "false alarm"
_MEASURES = ("accuracy", "precision", "recall", "F1")


def detected(values: Mapping[str, float], classes: Sequence[str], threshold: float | None) -> dict[str, float]:
    """The components of a case: of an error, whether it is caught, and as which class; of a good answer, a false alarm.

    NaN for what the case has no part in, and for everything without a threshold.
    """
    said = math.nan if threshold is None else float(values[SCORE] < threshold)
    error = values[GOOD] == 0
    found = {_CAUGHT: said if error else math.nan, _ALARM: math.nan if error else said}
    return found | {_of(name): said if error and name in classes else math.nan for name in ERROR_CLASSES}


def tables(cases: Mapping[str, Cases], tasks: Sequence[str], models: Sequence[str]) -> tuple[Table, ...]:
    """Both tables; none where nothing was decided, as there was no threshold."""
    if not any(_decided(own) for own in cases.values()):
        return ()
    files = {name: _file(name, cases[name]) for task in tasks for name in _names(cases, task, models)}
    means = [_mean(model, [row for name, row in files.items() if name.endswith(f"/{model}")]) for model in models]
    pooled = _file("all files together", Cases.pooled(cases.values()))
    return (
        Table(
            name=DETECTION,
            about="An answer below the threshold is said to have an error; error is the positive class, a failed "
            "judgment is a wrong decision.",
            columns=_MEASURES,
            rows=(*files.values(), *(row for row in means if row is not None), pooled),
        ),
        Table(
            name=BY_CLASS,
            about="Of the answers with an error of this class, how many are said to have one.",
            columns=ERROR_CLASSES,
            rows=(
                *(_recalls(name, cases[name]) for name in files),
                _recalls("all files together", Cases.pooled(cases.values())),
            ),
        ),
    )


def _names(cases: Mapping[str, Cases], task: str, models: Sequence[str]) -> list[str]:
    return [name for model in models if (name := f"{task}/{model}") in cases]


def _decided(cases: Cases) -> bool:
    return any(cases.mean(name) is not None for name in (_CAUGHT, _ALARM))


def _file(name: str, cases: Cases) -> Row:
    errors, good = cases.having(_CAUGHT), cases.having(_ALARM)
    caught, alarms = cases.total(_CAUGHT), cases.total(_ALARM)
    said = caught + alarms
    accuracy = (caught + good - alarms) / (errors + good) if errors + good else None
    precision = caught / said if said else 0.0
    # A file without an error (of a trial, say) has no recall: that is unknown, not 0.
    recall = caught / errors if errors else None
    f1 = 2 * caught / (errors + said) if errors else None
    return Row(name=name, n=cases.count, values=tuple(map(percent, (accuracy, precision, recall, f1))))


def _mean(model: str, rows: Sequence[Row]) -> Row | None:
    if not rows:
        return None
    values = tuple(mean(column) for column in zip(*(row.values for row in rows), strict=True))
    return Row(name=f"mean of tasks, {model}", n=sum(row.n for row in rows), values=values)


def _recalls(name: str, cases: Cases) -> Row:
    values = tuple(percent(cases.mean(_of(one))) for one in ERROR_CLASSES)
    return Row(name=name, n=cases.having(_CAUGHT), values=values)


def _of(name: str) -> str:
    return f"{_CAUGHT}: {name}"
