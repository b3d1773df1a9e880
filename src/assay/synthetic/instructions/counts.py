"""Demands on how many: words (Chinese: characters), sentences, paragraphs, bullets, numbered points."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from ..draws import Draws, Texts
from ..record import Finding
from .demand import Demand
from .draft import Draft, characters_of, words_of
from .prose import extra, sentence

Relation: TypeAlias = Literal["exactly", "at least", "at most"]
RELATIONS: tuple[Relation, ...] = ("exactly", "at least", "at most")

_FRAMES = {
    "en": Texts(
        train=(
            "Use {r} {u}.",
            "Your answer must have {r} {u}.",
            "It should contain {r} {u}.",
            "The text has to have {r} {u}.",
            "Write {r} {u}.",
            "Make it {r} {u}.",
            "I want {r} {u}.",
            "There must be {r} {u}.",
            "Answer with {r} {u}.",
            "Give me {r} {u}.",
            "The reply needs {r} {u}.",
            "Limit: {r} {u}.",
            "{r} {u}, please.",
            "Respond in {r} {u}.",
            "Be sure to use {r} {u}.",
            "Note that {r} {u} are required.",
        ),
        held=(
            "The piece is to run to {r} {u}.",
            "What I print takes {r} {u}.",
            "Deliver {r} {u}, counted by machine.",
            "Stick to {r} {u}.",
        ),
    ),
    "zh": Texts(
        train=(
            "要求{r}{u}。",
            "请写{r}{u}。",
            "回答必须有{r}{u}。",
            "全文应为{r}{u}。",
            "篇幅：{r}{u}。",
            "需要{r}{u}。",
            "请用{r}{u}来写。",
        ),
        held=("成稿须{r}{u}。", "请控制为{r}{u}。"),
    ),
}
_RELATIONS = {
    "en": {
        "exactly": Texts(
            train=("exactly {n}", "precisely {n}", "{n} (no more and no less)"),
            held=("{n} on the dot, so exactly {n}", "neither more nor fewer than {n}"),
        ),
        "at least": Texts(
            train=("at least {n}", "no fewer than {n}", "{n} or more", "a minimum of {n}"),
            held=("not less than {n}", "{n} at the very least"),
        ),
        "at most": Texts(
            train=("at most {n}", "no more than {n}", "{n} or fewer", "a maximum of {n}", "up to {n}"),
            held=("not over {n}", "never above {n}"),
        ),
    },
    "zh": {
        "exactly": Texts(train=("正好{n}", "恰好{n}", "不多不少{n}"), held=("刚好{n}",)),
        "at least": Texts(train=("至少{n}", "不少于{n}"), held=("最少{n}",)),
        "at most": Texts(train=("至多{n}", "不超过{n}", "最多{n}"), held=("不多于{n}",)),
    },
}
_ASKS = {"en": "{r} {n} {u}", "zh": "{r}{n}{u}"}
_ZH_RELATION = {"exactly": "正好", "at least": "至少", "at most": "至多"}
_FOUND = {"en": "{listed} = {many}; asked for: {r} {n}", "zh": "{listed} = {many}，要求{r}{n}"}

_BULLET = re.compile(r"^[-*•] +\S", re.MULTILINE)
_NUMBERED = re.compile(r"^\d+\. +\S", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]")

Count: TypeAlias = Callable[[str], list[str]]


def words(draws: Draws) -> Demand:
    """So many words, or in Chinese so many characters."""
    chinese = draws.language == "zh"
    n = draws.number(25, 70) if chinese else draws.number(8, 40)
    unit, title = ("字", "字数") if chinese else ("words", "Number of words")
    return _demand(draws, "words", title, unit, n, characters_of if chinese else words_of, _set_words)


def sentences(draws: Draws) -> Demand:
    """So many sentences."""
    unit, title = ("句话", "句数") if draws.language == "zh" else ("sentences", "Number of sentences")
    return _demand(draws, "sentences", title, unit, draws.between(2, 7), sentences_of, _set_sentences)


def paragraphs(draws: Draws) -> Demand:
    """So many paragraphs, parted by blank lines."""
    unit, title = "paragraphs parted by blank lines", "Number of paragraphs"
    return _demand(draws, "paragraphs", title, unit, draws.between(2, 5), paragraphs_of, _set_paragraphs)


def bullets(draws: Draws) -> Demand:
    """So many bullet points."""
    unit, title = (
        ("个以“- ”开头的要点", "要点数")
        if draws.language == "zh"
        else ('bullet points that begin with "- "', "Number of bullets")
    )
    return _demand(draws, "bullets", title, unit, draws.between(2, 8), bullets_of, _set_bullets)


def numbered(draws: Draws) -> Demand:
    """So many numbered points."""
    unit, title = (
        ("个编号要点（1. 2. …）", "编号数")
        if draws.language == "zh"
        else ("numbered points (1. 2. ...)", "Number of points")
    )
    return _demand(draws, "numbered", title, unit, draws.between(2, 8), numbered_of, _set_numbered)


def sentences_of(text: str) -> list[str]:
    """The sentences, by their ends."""
    return [one.strip() for one in _SENTENCE.findall(_NUMBERED.sub("x", text))]


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs, parted by blank lines."""
    return [one.strip() for one in re.split(r"\n\s*\n", text) if one.strip()]


def bullets_of(text: str) -> list[str]:
    """The lines with a bullet, without it."""
    return [text[found.end() - 1 :].splitlines()[0] for found in _BULLET.finditer(text)]


def numbered_of(text: str) -> list[str]:
    """The lines with a number and a full stop, without them."""
    return [text[found.end() - 1 :].splitlines()[0] for found in _NUMBERED.finditer(text)]


def holds(relation: Relation, many: int, n: int) -> bool:
    """Whether ``many`` stands in the relation to ``n``."""
    return many == n if relation == "exactly" else many >= n if relation == "at least" else many <= n


_SetCount: TypeAlias = Callable[[Draft, int], None]


def _demand(draws: Draws, name: str, title: str, unit: str, n: int, count: Count, set_to: _SetCount) -> Demand:
    language = draws.language
    relation = draws.pick(RELATIONS)
    place, frame = draws.text(_FRAMES[language])
    _, said = draws.text(_RELATIONS[language][relation])
    text = frame.replace("{r}", said.replace("{n}", str(n))).replace("{u}", unit)
    shown = relation if language == "en" else _ZH_RELATION[relation]
    single = name == "words"

    def check(answer: str) -> Finding:
        parts = count(answer)
        listed = _listed(parts, single, language)
        said = _FOUND[language].format(listed=listed, many=len(parts), r=shown, n=n)
        return Finding(holds(relation, len(parts), n), said)

    def keep(draft: Draft) -> None:
        by = draft.draws.between(0, 3)
        set_to(draft, n if relation == "exactly" else n + by if relation == "at least" else max(1, n - by))

    def breaks(draft: Draft) -> None:
        by = draft.draws.pick((1, 1, 2, 3, 5))
        more = relation == "at most" or (relation == "exactly" and draft.draws.chance(0.5)) or n - by < 1
        set_to(draft, n + by if more else n - by)

    return Demand(
        name=name,
        title=title,
        text=text[0].upper() + text[1:],
        asks=_ASKS[language].format(r=shown, n=n, u=unit),
        part="length",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def _listed(parts: list[str], single: bool, language: str) -> str:
    """The counting itself: each part with its number; of long parts only their beginning."""
    if single:
        step = 1 if language == "en" else 5
        groups = ["".join(parts[at : at + step]) for at in range(0, len(parts), step)]
        return " ".join(f"{min((at + 1) * step, len(parts))} {group}" for at, group in enumerate(groups)) or "0"
    heads = [" ".join(part.split()[:3]) if language == "en" else part[:6] for part in parts]
    return ", ".join(f"{at} {head}" for at, head in enumerate(heads, 1)) or "0"


def _set_words(draft: Draft, n: int) -> None:
    count = characters_of if draft.draws.language == "zh" else words_of
    for _ in range(200):
        off = n - len(count(draft.text()))
        if off == 0:
            return
        longest = max(draft.sentences, key=len)
        if off > 8:
            draft.sentences.append(sentence(draft.draws))
        elif off > 0:
            word = extra(draft.draws)
            if draft.draws.language == "zh" and len(word) > off:
                word = "又"
            draft.sentences[draft.draws.between(0, len(draft.sentences) - 1)].insert(1, word)
        elif len(draft.sentences) > 1 and -off >= len(count(" ".join(draft.sentences[-1]))):
            draft.sentences.pop()
        elif len(longest) > 1:
            longest.pop(1)
        else:
            return


def _set_sentences(draft: Draft, n: int) -> None:
    for _ in range(40):
        off = n - len(sentences_of(draft.text()))
        if off == 0 or (off < 0 and len(draft.sentences) == 1):
            return
        if off > 0:
            draft.sentences.append(sentence(draft.draws))
        else:
            draft.sentences.pop()


def _set_paragraphs(draft: Draft, n: int) -> None:
    while len(draft.sentences) < n:
        draft.sentences.append(sentence(draft.draws))
    draft.paragraphs = n


def _set_points(draft: Draft, n: int) -> None:
    while len(draft.sentences) < n:
        draft.sentences.append(sentence(draft.draws))
    del draft.sentences[n:]


def _set_bullets(draft: Draft, n: int) -> None:
    _set_points(draft, n)
    draft.layout = "bullets"


def _set_numbered(draft: Draft, n: int) -> None:
    _set_points(draft, n)
    draft.layout = "numbers"
