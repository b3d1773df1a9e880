"""Principles out of a judge's text: the part ``Specific Criteria``, as it stands in a recorded judgment.

Owns: which words are a principle, and which a weight. Lenient about how they are written, for judges are; what cannot
be read is a typed failure. Does not own: what principles are (``principles``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from assay.core.config import explain
from assay.core.types import Failure

from .box import quoted
from .principles import Principle, Principles, check_principles
from .reply import spoken, unread

MOST = 30
"""More principles than this are a text that runs on."""

_LABEL = r"^[ \t>#*_\-\d.]{0,12}(?:%s)[ \t]{0,2}[*_#]{0,4}[ \t]{0,2}(?:[:：][ \t*_]{0,4}|[*_# \t]{0,8}$)"
_BEGINS = re.compile(_LABEL % r"specific criteria|专门标准", re.IGNORECASE | re.MULTILINE)
_ENDS = re.compile(_LABEL % r"analysis|scores?|choice|分析|分数|选择", re.IGNORECASE | re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•][ \t]+|\(?\d{1,2}[.)、）][ \t]*)")
_WEIGHT = re.compile(
    r"[(\[（【]?[ \t]{0,2}(?:(?:with )?(?:a )?weight(?:ed)?(?: of)?|权重|占)?[ \t]{0,2}[:：=]?[ \t]{0,2}"
    r"(?P<percent>\d{1,3}(?:\.\d{1,6})?)[ \t]{0,2}[%％][ \t]{0,2}(?:weight)?[)\]）】]?"
    r"|[(\[（【]?[ \t]{0,2}(?:weight|权重)[ \t]{0,2}[:：=]?[ \t]{0,2}(?P<share>\d{1,3}(?:\.\d{1,6})?)"
    r"[ \t]{0,2}[)\]）】]?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[;；,，、]")
_EDGES = " \t*_`:：-–—,，;；.。|"


def parse_principles(text: str) -> Principles | Failure:
    """The principles that a judge wrote under ``Specific Criteria`` (``专门标准``), in order, with their weights.

    Takes lists and single lines, ``Correctness (40%): ...``, ``40% Correctness``, ``weight: 0.4``. Where no weight is
    said at all, the points of a list are principles without weight. A weight of 0 counts for nothing and is left out.
    Failures: ``parse_error`` where there is no such part, or nothing in it that can be read; ``truncated`` and
    ``refused`` as for scores.
    """
    said = spoken(text)
    if isinstance(said, Failure):
        return said
    begins = _BEGINS.search(said)
    if begins is None:
        return unread(text, said, "no part 'Specific Criteria' in the reply")
    ends = _ENDS.search(said, begins.end())
    part = said[begins.end() : ends.start() if ends else len(said)]
    try:
        principles = _read(part)
    except ValueError as error:
        why = explain(error) if isinstance(error, ValidationError) else str(error)
        return unread(text, said, f"a principle cannot be read: {why}")
    problem = f"{len(principles)} principles" if len(principles) > MOST else check_principles(principles)
    if problem is not None:
        return unread(text, said, f"{problem} (the part is {quoted(part.strip())})")
    return principles


def _read(part: str) -> Principles:
    """The principles of the part; raises ValueError for a name or a weight that is none."""
    lines = [line for line in part.split("\n") if line.strip()]
    if not any(_WEIGHT.search(line) for line in lines):
        return tuple(_unweighted(line) for line in lines if _BULLET.match(line))
    found: list[Principle] = []
    for piece, begins in _pieces(lines):
        weight = _WEIGHT.search(piece)
        if weight is not None and begins:
            found.append(_weighted(piece, weight))
        elif found:  # more words about the one before
            found[-1] = found[-1].model_copy(update={"text": f"{found[-1].text} {piece.strip()}".strip()})
    return tuple(principle for principle in found if principle.weight is not None)


def _weighted(piece: str, weight: re.Match[str]) -> Principle:
    value = float(weight["percent"] or weight["share"])
    if weight["percent"] and value > 100:
        raise ValueError(f"a weight of {weight['percent']}%")
    if not weight["percent"] and value <= 1:
        value *= 100
    name, words = _named(piece[: weight.start()], piece[weight.end() :])
    return Principle.model_validate({"name": name, "text": words, "weight": value or None})


def _pieces(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Pieces of one principle each at most, and whether a principle can begin there.

    They are lines, and what stands between the commas of a line that lists several. In a list only its points begin
    one, and a point is one: in ``Accuracy (40%): at least 90% are right`` the second percentage is no weight.
    """
    points = [_indent(line) for line in lines if _BULLET.match(line) and _WEIGHT.search(line)]
    for line in lines:
        if points:
            yield line, _BULLET.match(line) is not None and _indent(line) <= points[0]
        elif _lists(line):
            yield from ((piece, True) for piece in _BETWEEN.split(line) if piece.strip())
        else:
            yield line, True


def _lists(line: str) -> bool:
    """Whether a line has several principles: several weights, and no explanation that could have percentages in it."""
    found = list(_WEIGHT.finditer(line))
    if len(found) <= 1:
        return False
    explained = line[found[0].end() :].lstrip().startswith((":", "："))
    return not explained or all(weight[0][0] in "([（【" for weight in found)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _named(before: str, after: str) -> tuple[str, str]:
    """Name and words of a principle from what stands before and after its weight."""
    before = _BULLET.sub("", before).strip(_EDGES).removeprefix("and ")
    after = after.strip(_EDGES)
    if not before:
        name, _, words = _cut(after)
        return name.removeprefix("for ").strip(_EDGES), words.strip()
    name, _, words = _cut(before)
    return name.strip(_EDGES), " ".join(word for word in (words.strip(_EDGES), after) if word)


def _unweighted(line: str) -> Principle:
    name, _, words = _cut(_BULLET.sub("", line).strip(_EDGES))
    return Principle.model_validate({"name": name.strip(_EDGES), "text": words.strip(_EDGES)})


def _cut(text: str) -> tuple[str, str, str]:
    return text.partition("：") if "：" in text and ":" not in text else text.partition(":")
