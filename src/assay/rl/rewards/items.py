"""From a sample to what a judge looks at. Pure.

Owns: where question and gold answer stand (contracts, section 5). Does not own: what a judge makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import InputError
from assay.core.types import Candidate, Item, Message

from ..sample import PromptText, Sample


def question(prompt: PromptText, metadata: Mapping[str, Any]) -> tuple[Message, ...]:
    """The conversation that is judged: ``metadata["question"]`` alone where it is said, else the prompt."""
    said = metadata.get("question")
    if isinstance(said, str) and said.strip():
        return (Message(role="user", content=said),)
    return (Message(role="user", content=prompt),) if isinstance(prompt, str) else prompt


def gold(label: str | None, metadata: Mapping[str, Any]) -> str | None:
    """The gold answer: ``metadata["label"]``, else the label; None where there is none.

    Raises:
        InputError: it is neither a text nor a number.
    """
    said = metadata.get("label")
    found = label if said is None or said == "" else said
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise InputError(f"metadata['label'] must be a text or a number to compare answers with, got {found!r:.80}")
    return str(found)


def to_item(samples: Sequence[Sample]) -> Item:
    """The answers to one prompt as the candidates of one item.

    Raises:
        InputError: see ``gold``.
    """
    first = samples[0]
    return Item(
        id=f"{first.group_index}/{first.index}" if len(samples) == 1 else str(first.group_index),
        messages=question(first.prompt, first.metadata),
        candidates=tuple(Candidate(text=sample.response) for sample in samples),
        reference=gold(first.label, first.metadata),
    )
