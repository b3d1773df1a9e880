"""The published preference sets: where each is, and how a row of it becomes an item. Fields as published.

Every item has two candidates or more, with gold. Rows without a preference (a tie, no rating) are items with equal
gold: whoever needs a unique best leaves them out (``best.unique_best``). Metadata holds ``source`` and, where the set
has it, ``strength``: how much better the best one is, which a hint may tell (DeepSeek-GRM, hinted sampling).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from assay.core.types import Candidate, Item, Message

from ..gold import one_gold
from ..rows import RowError, read_messages

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """``hub``: as ``data.hub`` takes it; empty for a set that is a file elsewhere. ``folder``: within the repository.

    ``about``: what it is and its licence, as its card says. ``read``: a row and its line number to an item; raises
    ``RowError``.
    """

    name: str
    hub: str
    about: str
    read: Callable[[Row, str], Item]
    folder: str | None = None


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise RowError(f"{key!r} must be a text, not {value!r:.80}")
    return value


def _number(row: Row, key: str) -> float:
    try:
        return one_gold(row.get(key))
    except ValueError as error:
        raise RowError(f"{key!r}: {error}") from error


def _item(
    source: str,
    line: str,
    messages: tuple[Message, ...],
    candidates: list[Candidate],
    gold: list[float],
    **metadata: Any,
) -> Item:
    kept = {key: value for key, value in metadata.items() if value is not None}
    return Item(
        id=f"{source}-{line}",
        messages=messages,
        candidates=tuple(candidates),
        gold=tuple(gold),
        metadata={"source": source, **kept},
    )


def _user(text: str) -> tuple[Message, ...]:
    return (Message(role="user", content=text),)


def _signed(strength: float) -> list[float]:
    """Gold of two candidates out of a preference that is negative where the first one is better."""
    return [0.5, 0.5] if strength == 0 else [float(strength < 0), float(strength > 0)]


def helpsteer2(row: Row, line: str) -> Item:
    """prompt, response_1, response_2, preference_strength from -3 (the first is much better) to 3."""
    strength = _number(row, "preference_strength")
    candidates = [Candidate(text=_text(row, "response_1")), Candidate(text=_text(row, "response_2"))]
    return _item(
        "helpsteer2",
        line,
        _user(_text(row, "prompt")),
        candidates,
        _signed(strength),
        strength=abs(strength),
        split=row.get("split"),
    )


def helpsteer3(row: Row, line: str) -> Item:
    """context (a chat), response1, response2, overall_preference from -3 to 3, domain, language."""
    strength = _number(row, "overall_preference")
    candidates = [Candidate(text=_text(row, "response1")), Candidate(text=_text(row, "response2"))]
    return _item(
        "helpsteer3",
        line,
        read_messages(row.get("context"), "context"),
        candidates,
        _signed(strength),
        strength=abs(strength),
        domain=row.get("domain"),
        language=row.get("language"),
    )


def ultrafeedback(row: Row, line: str) -> Item:
    """instruction, completions with model, response and overall_score (1 to 10, by GPT-4)."""
    rated: list[tuple[Candidate, float]] = []
    for one in cast("list[Row]", row.get("completions") or []):
        if isinstance(one.get("response"), str) and one.get("overall_score") is not None:
            author = one.get("model")
            candidate = Candidate(text=one["response"], author=author if isinstance(author, str) else None)
            rated.append((candidate, _number(one, "overall_score")))
    if len(rated) < 2:
        raise RowError(f"{len(rated)} of its completions have a response and an overall_score; a comparison needs two")
    candidates, gold = [one for one, _ in rated], [score for _, score in rated]
    return _item("ultrafeedback", line, _user(_text(row, "instruction")), candidates, gold, origin=row.get("source"))


def skywork(row: Row, line: str) -> Item:
    """chosen and rejected, two chats that differ in their last turn, and source."""
    return _chats("skywork", row, line, origin=row.get("source"))


def _chats(source: str, row: Row, line: str, **metadata: Any) -> Item:
    chosen, rejected = (read_messages(row.get(key), key) for key in ("chosen", "rejected"))
    if len(chosen) < 2 or chosen[:-1] != rejected[:-1]:
        raise RowError("chosen and rejected do not continue the same conversation")
    candidates = [Candidate(text=chosen[-1].text), Candidate(text=rejected[-1].text)]
    return _item(source, line, chosen[:-1], candidates, [1.0, 0.0], **metadata)


def offsetbias(row: Row, line: str) -> Item:
    """instruction, output_1, output_2, label: 1 or 2, the better one."""
    label = _number(row, "label")
    if label not in (1.0, 2.0):
        raise RowError(f"'label' must be 1 or 2, not {row.get('label')!r:.80}")
    candidates = [Candidate(text=_text(row, "output_1")), Candidate(text=_text(row, "output_2"))]
    gold = [float(label == 1), float(label == 2)]
    return _item("offsetbias", line, _user(_text(row, "instruction")), candidates, gold)


_TURN = re.compile(r"\n\n(Human|Assistant): ?")
_ROLES = {"Human": "user", "Assistant": "assistant"}


def hh(row: Row, line: str) -> Item:
    """chosen and rejected, each a whole conversation as one text, its turns after Human and Assistant."""
    chosen, rejected = (_turns(_text(row, key), key) for key in ("chosen", "rejected"))
    # A few pairs part before the last turn: then there is no common conversation to answer.
    if chosen[:-1] != rejected[:-1]:
        raise RowError("chosen and rejected part before the last turn")
    candidates = [Candidate(text=chosen[-1].text), Candidate(text=rejected[-1].text)]
    return _item("hh", line, chosen[:-1], candidates, [1.0, 0.0])


def _turns(text: str, key: str) -> tuple[Message, ...]:
    pieces = _TURN.split(text)
    turns = tuple(
        Message(role=_ROLES[role], content=said.strip()) for role, said in zip(pieces[1::2], pieces[2::2], strict=True)
    )
    if len(turns) < 2 or turns[-1].role != "assistant":
        raise RowError(f"{key!r} is no conversation that ends with the assistant: {text[:60]!r}")
    return turns


def pandalm(row: Row, line: str) -> Item:
    """instruction, input, response1, response2, three annotators: 1 or 2 is better, 0 a tie. Gold by majority."""
    labels = [int(_number(row, f"annotator{at}")) for at in (1, 2, 3)]
    if set(labels) - {0, 1, 2}:
        raise RowError(f"annotators must say 0, 1 or 2, not {labels}")
    voted = next((label for label in (1, 2) if labels.count(label) >= 2), 0)
    asked = "\n\n".join(part for part in (_text(row, "instruction"), str(row.get("input") or "")) if part)
    # Six answers of the file stand there as a JSON true: the answer was the word.
    candidates = [Candidate(text=str(row.get(key, ""))) for key in ("response1", "response2")]
    gold = [0.5, 0.5] if voted == 0 else [float(voted == 1), float(voted == 2)]
    return _item("pandalm", line, _user(asked), candidates, gold, strength=float(max(map(labels.count, (1, 2)))))


SETS: Mapping[str, PublishedSet] = MappingProxyType(
    {
        one.name: one
        for one in (
            PublishedSet(
                name="helpsteer2",
                hub="nvidia/HelpSteer2:train",
                folder="preference",
                about="human preferences with their strength; CC-BY-4.0",
                read=helpsteer2,
            ),
            PublishedSet(
                name="helpsteer3",
                hub="nvidia/HelpSteer3:preference:train",
                about="human preferences with their strength: general, STEM, code, 13 languages; CC-BY-4.0",
                read=helpsteer3,
            ),
            PublishedSet(
                name="ultrafeedback",
                hub="openbmb/UltraFeedback:train",
                about="four answers a prompt, rated by GPT-4; MIT",
                read=ultrafeedback,
            ),
            PublishedSet(
                name="skywork",
                hub="Skywork/Skywork-Reward-Preference-80K-v0.2:train",
                about="80K pairs selected from other sets, without the overlap with RewardBench; see its card",
                read=skywork,
            ),
            PublishedSet(
                name="offsetbias",
                hub="NCSOFT/offsetbias:train",
                about="pairs in which the worse answer looks better; see its card",
                read=offsetbias,
            ),
            PublishedSet(
                name="hh",
                hub="Anthropic/hh-rlhf:train",
                about="helpful and harmless, human preferences; MIT",
                read=hh,
            ),
            PublishedSet(
                name="pandalm",
                hub="",
                about="999 pairs with three human labels, testset-v1.json of github.com/WeOpenML/PandaLM; Apache-2.0",
                read=pandalm,
            ),
        )
    }
)
"""Every published set by its name here."""
