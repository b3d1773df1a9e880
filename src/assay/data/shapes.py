"""Rows whose fields are well known, so that nobody has to map them.

Owns: the table of known shapes, tried in order, and the guess by column names where none fits. A shape is only a
``FieldMap``; what the fields mean is the business of ``rows``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .fieldmap import FieldMap
from .lookup import find

PROMPTS = ("prompt", "messages", "question", "problem", "query")
REFERENCES = ("reference", "ground_truth", "reward_model.ground_truth", "label", "answer")
ANSWERS = ("candidates", "responses", "completions", "response", "completion", "output")
GOLDS = ("gold", "scores", "is_correct")
IDS = ("id", "question_id", "pair_id", "unique_id", "bon_uid", "pair_uid", "uid", "extra_info.index", "metadata.id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A detected shape: its name, and the fields it gives."""

    name: str
    fields: FieldMap


def detect(row: Mapping[str, Any]) -> Shape | None:
    """The first known shape that ``row`` has, else a guess by column names, else None."""
    for name, needs, build in _KNOWN:
        if all(find(row, path) is not None for path in needs):
            fields = build(row)
            if fields is not None:
                return Shape(name=name, fields=_with_id(fields, row))
    prompt = _first(row, PROMPTS)
    return Shape(name="guessed", fields=_with_id(_guess(row, prompt), row)) if prompt else None


_Build = Callable[[Mapping[str, Any]], FieldMap | None]


def _always(fields: FieldMap, author: str | None = None) -> _Build:
    """These fields; ``author``: where the model stands that wrote the answers."""
    return lambda row: fields.model_copy(update={"authors": _authors(row, (author,))}) if author else fields


def _preference(kind: type[str] | type[list[Any]]) -> _Build:
    def build(row: Mapping[str, Any]) -> FieldMap | None:
        if not isinstance(row["chosen"], kind) or not isinstance(row["rejected"], kind):
            return None
        return FieldMap(
            prompt="prompt" if "prompt" in row else None,
            chosen=("chosen",),
            rejected=("rejected",),
            authors=_authors(row, ("chosen_model", "rejected_model")) if kind is str else (),
        )

    return build


def _numbered(row: Mapping[str, Any]) -> FieldMap | None:
    """``response_1`` to ``response_k``, with ``scores`` (PPE correctness) or ``winner`` (PPE human preference)."""
    numbers = sorted(int(m[1]) for key in row if (m := re.fullmatch(r"response_(\d{1,4})", key)))
    if numbers != list(range(1, len(numbers) + 1)):
        return None
    gold = _first(row, ("scores", "winner"))
    return FieldMap(
        prompt="prompt",
        candidates=tuple(f"response_{number}" for number in numbers),
        reference=_first(row, REFERENCES),
        gold=(gold,) if gold else (),
        authors=_authors(row, ("model_a", "model_b")) if len(numbers) == 2 else _authors(row, ("model_name",)),
    )


def _authors(row: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of authors, where the row has one of them; an author that is not known is none."""
    return names if any(isinstance(find(row, name), str) for name in names) else ()


def _labelled_solutions(row: Mapping[str, Any]) -> FieldMap | None:
    """GSM8K's example solutions: a column per model, each an object with ``solution`` and ``is_correct``."""
    models = [
        key for key, value in row.items() if isinstance(value, Mapping) and {"solution", "is_correct"} <= set(value)
    ]
    if not models:
        return None
    return FieldMap(
        prompt="question",
        candidates=tuple(f"{model}.solution" for model in models),
        reference="ground_truth",
        reference_after="\nA:",
        gold=tuple(f"{model}.is_correct" for model in models),
    )


def _guess(row: Mapping[str, Any], prompt: str) -> FieldMap:
    answers, gold = _first(row, ANSWERS), _first(row, GOLDS)
    return FieldMap(
        prompt=prompt,
        candidates=(answers,) if answers else (),
        reference=_first(row, REFERENCES),
        gold=(gold,) if answers and gold else (),
    )


def _answered(prompt: str, reference: str, after: str | None = None) -> _Build:
    """A question with a standard answer, and the answers to it where the row has any."""

    def build(row: Mapping[str, Any]) -> FieldMap:
        return _guess(row, prompt).model_copy(update={"reference": reference, "reference_after": after})

    return build


_JUDGEBENCH = FieldMap(prompt="question", candidates=("response_A", "response_B"), gold=("label",))
_RMB_PAIR = FieldMap(prompt="conversation_input", chosen=("chosen.answer",), rejected=("reject.answer",))
_RMB_BON = FieldMap(prompt="conversation_input", chosen=("bon_best.answer",), rejected=("loser_list.answer",))
_REALMISTAKE = FieldMap(prompt="input", candidates=("llm_response",), gold=("error_label",))

_KNOWN: tuple[tuple[str, Sequence[str], _Build], ...] = (
    ("assay", ("prompt", "candidates"), lambda row: _guess(row, "prompt")),
    ("assay", ("messages", "candidates"), lambda row: _guess(row, "messages")),
    ("rewardbench", ("prompt", "chosen", "rejected"), _preference(str)),
    ("rm-bench", ("prompt", "chosen", "rejected"), _preference(list)),
    ("preference", ("chosen", "rejected"), _preference(list)),
    ("rmb", ("conversation_input", "chosen.answer", "reject.answer"), _always(_RMB_PAIR)),
    ("rmb-bon", ("conversation_input", "bon_best.answer", "loser_list"), _always(_RMB_BON)),
    ("judgebench", ("question", "response_A", "response_B", "label"), _always(_JUDGEBENCH, "response_model")),
    ("ppe", ("prompt", "response_1", "response_2"), _numbered),
    ("realmistake", ("input", "llm_response", "error_label"), _always(_REALMISTAKE, "metadata.llm_response_model")),
    ("gsm8k-solutions", ("question", "ground_truth"), _labelled_solutions),
    ("dapo", ("prompt", "reward_model.ground_truth"), _answered("prompt", "reward_model.ground_truth")),
    ("rollout", ("prompt", "label"), _answered("prompt", "label")),
    ("rollout", ("prompt", "ground_truth"), _answered("prompt", "ground_truth")),
    ("math", ("problem", "answer"), _answered("problem", "answer")),
    ("gsm8k", ("question", "answer"), _answered("question", "answer", "####")),
)


def _with_id(fields: FieldMap, row: Mapping[str, Any]) -> FieldMap:
    return fields.model_copy(update={"id": _first(row, IDS)})


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if find(row, name) is not None), None)
