"""Pairs changed in length or in style and in nothing that is said: what a judge makes of the answers is not to change.

Four probes of a pair with a better and a worse answer: both made equally long, the worse one made longer, both taken
out of their markup, the worse one dressed up in it. Filler stands in front, and the last line of an answer stays as it
is, so that its final answer is found as before. Pure. Does not own: what came of it (``probe_readings``, audits).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

from assay.core.types import Candidate, Item

NEAR = 0.1
"""Two answers whose lengths differ by at most this share of the longer one are equally long."""
LONGER = 2.0
"""The worse answer is made this many times as long as the better one."""

_FILLER = (
    "Thank you for the question, which deserves a careful reply.",
    "There is more than one way to look at it, and each of them has something to say for itself.",
    "It helps to take the matter calmly and to go through it bit by bit.",
    "What follows keeps to the question and leaves out what does not belong to it.",
    "As always, the point is to be clear and complete at the same time.",
    "With that said, here is the reply.",
)
_FILLER_ZH = (
    "感谢提问，这个问题值得认真回答。",
    "看待它的角度不止一种，每一种都有自己的道理。",
    "不妨平心静气，一点一点地来看。",
    "下面的内容紧扣问题，不谈无关的事。",
    "一如既往，既要说得清楚，也要说得完整。",
    "说明到此，下面是回答。",
)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FENCE = re.compile(r"^\s*(```|~~~)")
_LINE_MARKS = re.compile(r"^(\s*)(?:#{1,6}[ \t]+|>[ \t]?|[-*+•][ \t]+)")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_RULE = re.compile(r"^\s*(?:-{3,}|\*{3,}|_{3,})\s*$")


def length_matched(item: Item) -> Item | None:
    """The pair with filler before the shorter answer, so that both are about equally long.

    Returns:
        None: no pair with a better and a worse answer, or they are equally long as they are.
    """
    if better_and_worse(item) is None:
        return None
    lengths = [len(candidate.text) for candidate in item.candidates]
    if near(lengths[0], lengths[1]):
        return None
    short = lengths.index(min(lengths))
    return _changed(item, "length-matched", {short: lambda text: filled(text, max(lengths))})


def lengthened(item: Item) -> Item | None:
    """The pair with the worse answer made twice as long as the better one; None also where it is that long already."""
    places = better_and_worse(item)
    if places is None:
        return None
    better, worse = places
    wanted = int(LONGER * len(item.candidates[better].text))
    if len(item.candidates[worse].text) >= wanted:
        return None
    return _changed(item, "lengthened", {worse: lambda text: filled(text, wanted)})


def style_matched(item: Item) -> Item | None:
    """The pair without headings, lists, quotes and bold; None also where neither answer has any."""
    if better_and_worse(item) is None or all(plain(one.text) == one.text for one in item.candidates):
        return None
    return _changed(item, "style-matched", dict.fromkeys(range(item.n), plain))


def styled(item: Item) -> Item | None:
    """The pair with the worse answer in headings, lists and bold, and the better one without."""
    places = better_and_worse(item)
    if places is None:
        return None
    better, worse = places
    return _changed(item, "styled", {better: plain, worse: dressed})


def better_and_worse(item: Item) -> tuple[int, int] | None:
    """The places of the two answers of a pair; None where it is no pair, or gold prefers neither."""
    if item.n != 2 or item.gold is None or item.gold[0] == item.gold[1]:
        return None
    return (0, 1) if item.gold[0] > item.gold[1] else (1, 0)


def near(one: int, other: int) -> bool:
    """Whether two lengths, in characters, count as equal."""
    return abs(one - other) <= NEAR * max(one, other)


def filled(text: str, length: int) -> str:
    """The text behind whole sentences that say nothing, about ``length`` characters in all."""
    chinese = bool(_CHINESE.search(text))
    said: list[str] = []
    left = length - len(text)
    for sentence in cycle(_FILLER_ZH if chinese else _FILLER):
        if left < len(sentence) / 2:
            break
        said.append(sentence)
        left -= len(sentence) + 1
    return f"{('' if chinese else ' ').join(said)}\n{text}" if said else text


def plain(text: str) -> str:
    """The text without markup of headings, lists, quotes, rules and bold; code blocks stay as they are."""
    lines: list[str] = []
    code = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            code = not code
        elif not code:
            if _RULE.match(line):
                continue
            line = _BOLD.sub(r"\1", _LINE_MARKS.sub(r"\1", line))
        lines.append(line)
    return "\n".join(lines)


def dressed(text: str) -> str:
    """The text under headings, its lines as points of a list with a bold beginning; the last line stays as it is."""
    chinese = bool(_CHINESE.search(text))
    overview, result = ("概述", "结论") if chinese else ("Overview", "Conclusion")
    *lines, last = plain(text).rstrip().split("\n")
    points = [_point(line) for line in lines] if "```" not in text else lines
    body = "\n".join(points)
    return f"## {overview}\n\n{body}\n\n## {result}\n\n{last}" if lines else f"## {result}\n\n{last}"


def _point(line: str) -> str:
    if not line.strip():
        return line
    first, space, rest = line.strip().partition(" ")
    return f"- **{first}**{space}{rest}"


def _changed(item: Item, name: str, how: dict[int, Callable[[str], str]]) -> Item:
    candidates = tuple(
        Candidate(text=how[place](one.text), author=one.author) if place in how else one
        for place, one in enumerate(item.candidates)
    )
    return replace(item, id=f"{item.id}/{name}", candidates=candidates)
