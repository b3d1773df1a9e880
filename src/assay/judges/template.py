"""Prompt texts, loading and filling them in one pass, and the fields of an item that they need.

Owns: the ``{name}`` syntax, the prompt files under ``prompts/`` and the refusal of items that lack a field. Does not
own: what makes shown text safe (``shield``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from assay.core.errors import InputError
from assay.core.types import Item

from .shield import Language, block

_PLACEHOLDER = re.compile(r"\\[A-Za-z]+\{|\{([A-Za-z_][A-Za-z0-9_]*)\}")
r"""The first branch steps over LaTeX commands: the brace in ``\boxed{x}`` is no placeholder."""


@cache
def load_prompt(name: str, language: Language) -> str:
    """The text of a prompt file that ships with the package, without white space around it."""
    return resources.files("assay.judges").joinpath("prompts", f"{name}.{language}.txt").read_text("utf-8").strip()


def placeholders(template: str) -> tuple[str, ...]:
    """The names of the placeholders of ``template``, each once, in order."""
    return tuple(dict.fromkeys(found[1] for found in _PLACEHOLDER.finditer(template) if found[1] is not None))


def fill(template: str, values: Mapping[str, str]) -> str:
    """``template`` with its placeholders replaced, in one pass: what is put in is never looked at again.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _PLACEHOLDER.sub(lambda found: found[0] if found[1] is None else values[found[1]], template)


def conversation(item: Item) -> tuple[tuple[str, str], ...]:
    """The (role, text) turns of the item.

    Raises:
        InputError: there is no turn, or one holds something that is not text and would silently be missing.
    """
    if not item.messages:
        raise InputError(f"item {item.id!r} has no messages: there is nothing that the candidates answer")
    for place, message in enumerate(item.messages):
        if isinstance(message.content, str):
            continue
        others = [part.get("type") for part in message.content if part.get("type") != "text"]
        if others:
            raise InputError(
                f"item {item.id!r}: messages[{place}] has a part of type {others[0]!r}; judges show text only"
            )
    return tuple((message.role, message.text) for message in item.messages)


def shown_reference(item: Item, *, wanted: bool) -> str | None:
    """The item's reference, where it has one and it is wanted."""
    return item.reference if wanted and item.reference and item.reference.strip() else None


def reference_parts(note: str, reference: str | None, language: Language) -> dict[str, str]:
    """What a prompt says about a reference answer (``reference_note``) and its block; both empty without one.

    The note is the same for all items, so it stands before what differs between them.
    """
    if reference is None:
        return {"reference_note": "", "reference": ""}
    shown = block("reference", reference, language=language)
    return {"reference_note": f"\n{note}\n", "reference": f"\n{shown}\n"}


def need_candidates(item: Item, *, judge: str, exactly: int | None = None) -> None:
    """Refuse an item without candidates or, with ``exactly``, with another number of them.

    Raises:
        InputError: names the item, the field and the numbers.
    """
    if item.n == 0:
        raise InputError(f"item {item.id!r} has no candidates: there is nothing to judge")
    if exactly is not None and item.n != exactly:
        detail = f"judge {judge!r} takes {exactly} at a time; split the item with parts()"
        raise InputError(f"item {item.id!r} has {item.n} candidates, {detail}")


def need_reference(item: Item, *, judge: str) -> str:
    """The item's reference.

    Raises:
        InputError: it is missing or blank.
    """
    if item.reference is None or not item.reference.strip():
        raise InputError(
            f"item {item.id!r} has no reference, which judge {judge!r} compares with; got {item.reference!r}"
        )
    return item.reference


def need_question(item: Item, *, judge: str) -> str:
    """The text of the last user turn.

    Raises:
        InputError: there is none, or it is blank.
    """
    if not item.question.strip():
        raise InputError(f"item {item.id!r} has no question for judge {judge!r}: messages hold no user turn with text")
    return item.question
