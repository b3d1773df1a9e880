r"""Making a text safe to show to a judge: it cannot close its block, end the turn or the thinking, or plant a verdict.

Owns: what is rewritten in shown text, and the blocks with their markers. Does not own: which text is shown (judges).

Rewritten, so that a judge may read and even quote it, while no parser of ours takes it:
- ``\boxed{42}``, and all else that lenient reading takes for a box -> ``[boxed: 42]``
- ``<think>``, ``</think>`` and the control tokens of chat templates -> ``‹think›``, ``‹|im_end|›``, ``‹/s›``
- what looks like a marker of ours: ``[[`` -> ``[ [``
All other text is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from assay.core.seeds import digest

from .notation import ANY_BOX, ASCII_FORM

Language: TypeAlias = Literal["en", "zh"]
Kind: TypeAlias = Literal["conversation", "question", "reference", "response", "answer", "turn"]

_NAMES: dict[Language, dict[Kind, str]] = {
    "en": {
        "conversation": "conversation",
        "question": "question",
        "reference": "reference",
        "response": "response",
        "answer": "answer",
        "turn": "turn",
    },
    "zh": {
        "conversation": "对话",
        "question": "问题",
        "reference": "参考",
        "response": "回答",
        "answer": "答案",
        "turn": "轮次",
    },
}
_TAG = 4
"""Hex digits of a tag. A text cannot write a marker anyway; the tag shows which end belongs to which beginning."""

_WORDS = sorted({name for names in _NAMES.values() for name in names.values()})
_CONTROL = r"</?(?:think|s|bos|eos|start_of_turn|end_of_turn)>|<\|[^<>|{}\[\]‹›\s]{1,40}\|>|\[/?INST\]"
_CONTROLS = re.compile(_CONTROL, re.IGNORECASE)
_DANGEROUS = re.compile(
    rf"(?P<box>{ANY_BOX.pattern})|(?P<open>\{{)|(?P<close>\}})|(?P<control>{_CONTROL})"
    rf"|(?P<marker>\[\[(?=[\s/]*(?:{'|'.join(_WORDS)})))",
    re.IGNORECASE,
)


def shield(text: str) -> str:
    """``text`` with everything dangerous rewritten, see above; linear in its length."""
    return "".join(_pieces(text))


def defuse(text: str) -> str:
    """``text`` with only its control tokens rewritten: it cannot end its turn, and no template takes its thinking off.

    For a text that is a turn of its own, so that its boxes and marks are seen as they were written.
    """
    pieces: list[str] = []
    at = 0
    for found in _CONTROLS.finditer(text.translate(ASCII_FORM)):
        pieces += (text[at : found.start()], f"‹{text[found.start() + 1 : found.end() - 1]}›")
        at = found.end()
    return "".join((*pieces, text[at:]))


def block(kind: Kind, text: str, *, index: int | None = None, language: Language = "en") -> str:
    """``text``, shielded, between markers: ``[[question 4eb8]]`` … ``[[/question 4eb8]]``.

    Begin and end carry a tag that follows from the text alone: it cannot be written in advance, and it depends neither
    on the order of the candidates nor on the other ones, so that prompts which begin alike share a prefix.
    """
    name = _NAMES[language][kind] + ("" if index is None else f" {index}")
    return _enclose(name, shield(text), digest([kind, text])[:_TAG])


def conversation_block(turns: Sequence[tuple[str, str]], *, language: Language = "en") -> str:
    """The (role, text) turns of a conversation between markers; roles stand in markers, so no text fakes a turn."""
    names = _NAMES[language]
    shown = [
        f"[[{names['turn']} {index}: {shield(' '.join(role.split()))}]]\n{shield(text)}"
        for index, (role, text) in enumerate(turns, 1)
    ]
    tag = digest([list(pair) for pair in turns])[:_TAG]
    return _enclose(names["conversation"], "\n".join(shown), tag)


def _enclose(name: str, body: str, tag: str) -> str:
    return f"[[{name} {tag}]]\n{body}\n[[/{name} {tag}]]"


def _pieces(text: str) -> Iterator[str]:
    # Found in the ASCII form, which has the same length, and cut out of the text as it is.
    boxes: list[bool] = []
    at = 0
    for found in _DANGEROUS.finditer(text.translate(ASCII_FORM)):
        original = text[found.start() : found.end()]
        yield text[at : found.start()]
        at = found.end()
        match found.lastgroup:
            case "box":
                boxes.append(True)
                yield "[boxed: "
            case "open":
                boxes.append(False)
                yield original
            case "close":
                yield "]" if boxes and boxes.pop() else original
            case "control":
                yield f"‹{original[1:-1]}›"
            case _:
                yield "[ ["
    yield text[at:]
