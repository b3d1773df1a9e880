"""Demands on letters and marks: all small, all capital, no comma, so many bold parts."""

from __future__ import annotations

import re

from ..draws import Draws, Texts
from ..record import Finding
from .counts import RELATIONS, holds
from .demand import Demand
from .draft import Casing, Draft, words_of
from .prose import sentence

_LOWER = Texts(
    train=(
        "Use small letters only.",
        "Write everything in lower case.",
        "No capital letters are allowed.",
        "All letters must be lowercase.",
        "Your whole answer must be in lowercase.",
        "Do not capitalise anything.",
        "Avoid capital letters altogether.",
        "The text has to be all lower case.",
        "Keep all letters small.",
        "lowercase only, please.",
        "Capital letters must not appear.",
        "Write without any capitals.",
        "Everything in small letters.",
        "Your reply should contain no uppercase letters.",
        "Stay in lower case throughout.",
    ),
    held=(
        "Leave the shift key alone: small letters throughout.",
        "Not one capital, please.",
        "Each letter is to be a small one.",
        "Uppercase is ruled out.",
    ),
)
_UPPER = Texts(
    train=(
        "Use capital letters only.",
        "Write everything in upper case.",
        "No small letters are allowed.",
        "All letters must be uppercase.",
        "Your whole answer must be in capitals.",
        "WRITE IN CAPITALS.",
        "Avoid small letters altogether.",
        "The text has to be all upper case.",
        "Keep all letters capital.",
        "Uppercase only, please.",
        "Small letters must not appear.",
        "Write without any lowercase letter.",
        "Everything in capital letters.",
        "Your reply should contain no lowercase letters.",
        "Stay in upper case throughout.",
    ),
    held=(
        "Hold the shift key down: capitals throughout.",
        "Not one small letter, please.",
        "Each letter is to be a capital.",
        "Lowercase is ruled out.",
    ),
)
_COMMAS = {
    "en": Texts(
        train=(
            "Do not use any commas.",
            "Write without commas.",
            "No commas are allowed.",
            "Avoid commas.",
            "The text must not contain a comma.",
            "Commas are forbidden.",
            "Leave out all commas.",
            "Your answer has to be free of commas.",
            "Use no comma at all.",
            "Refrain from using commas.",
            "Never use a comma.",
            "Commas must not appear.",
            "Do without commas.",
            "There should be no comma in it.",
            "Not a single comma.",
        ),
        held=(
            "Any comma spoils the text.",
            "Get along with full stops, never commas.",
            "Punctuate, but never by a comma.",
            "The comma key is off limits.",
        ),
    ),
    "zh": Texts(
        train=(
            "不要使用逗号。",
            "全文不得出现逗号。",
            "禁止使用逗号。",
            "请不用逗号来写。",
            "不能有逗号。",
            "避免逗号。",
        ),
        held=("一个逗号也不许有。", "标点中不可有逗号。"),
    ),
}
_BOLD = {
    "en": Texts(
        train=(
            "Set {r} parts in bold with **double stars**.",
            "Highlight {r} words like **this**.",
            "Use **bold** {r} times.",
            "Mark {r} parts by **stars**.",
            "There must be {r} bold parts, written **so**.",
            "Emphasise {r} words with ** on both sides.",
            "Your text needs {r} highlighted parts such as **word**.",
            "Put {r} words in **bold**.",
            "Include {r} parts in **bold type**.",
            "Let {r} parts be in **bold**.",
            "Make {r} words **bold**.",
            "The text should have {r} **bold** parts.",
            "Give {r} words the form **word**.",
            "I want {r} parts in **bold**.",
            "Print {r} words as **word**.",
        ),
        held=(
            "Embolden {r} words by means of **two stars**.",
            "{r} words are to be wrapped as **word**.",
            "Have {r} passages stand in **bold**.",
            "Stress {r} words by **stars** around them.",
        ),
    ),
    "zh": Texts(
        train=(
            "用**加粗**标出{r}处。",
            "{r}处须用**双星号**加粗。",
            "请把{r}个词写成**词**。",
            "加粗部分要有{r}处（**如此**）。",
            "以**词**的形式突出{r}处。",
            "文中要有{r}处**加粗**。",
        ),
        held=("请以**双星**标粗{r}处。", "{r}处文字须写作**文字**。"),
    ),
}
_MARK = re.compile(r"\*\*[^*\n]+\*\*")


def lowercase(draws: Draws) -> Demand:
    """Small letters only; English only."""
    return _cased(draws, "lowercase", "Small letters", _LOWER, "lower", "small letters only")


def uppercase(draws: Draws) -> Demand:
    """Capital letters only; English only."""
    return _cased(draws, "uppercase", "Capital letters", _UPPER, "upper", "capital letters only")


def _cased(draws: Draws, name: str, title: str, texts: Texts, casing: Casing, asks: str) -> Demand:
    place, text = draws.text(texts)

    def wrong(word: str) -> bool:
        return word != (word.lower() if casing == "lower" else word.upper())

    def check(answer: str) -> Finding:
        found = [word for word in words_of(answer) if wrong(word)]
        other = "capital" if casing == "lower" else "small"
        if not found:
            return Finding(True, f"no word has a {other} letter")
        return Finding(False, f"words with a {other} letter: {', '.join(found[:4])}")

    def keep(draft: Draft) -> None:
        draft.casing = casing

    return Demand(
        name=name,
        title=title,
        text=text,
        asks=asks,
        part="casing",
        place=place,
        check=check,
        keep=keep,
        breaks=lambda _: None,
    )


def commas(draws: Draws) -> Demand:
    """No comma."""
    english = draws.language == "en"
    place, text = draws.text(_COMMAS[draws.language])

    def check(answer: str) -> Finding:
        many = sum(sign in ",，" for sign in answer)
        at = max(0, next((at for at, sign in enumerate(answer) if sign in ",，"), 0))
        if many == 0:
            return Finding(True, "there is no comma" if english else "没有逗号")
        around = " ".join(answer[max(0, at - 10) : at + 1].split())
        return Finding(
            False, f'{many} commas, the first after "{around}"' if english else f"有{many}个逗号，第一个在“{around}”"
        )

    def keep(draft: Draft) -> None:
        draft.commas = False

    def breaks(draft: Draft) -> None:
        draft.commas = True

    return Demand(
        name="commas",
        title="No commas" if english else "不用逗号",
        text=text,
        asks="no comma anywhere" if english else "没有逗号",
        part="marks",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def highlight(draws: Draws) -> Demand:
    """So many parts in bold."""
    english = draws.language == "en"
    n = draws.between(2, 4)
    relation = draws.pick(RELATIONS)
    times = (
        f"{relation} {n}" if english else {"exactly": "正好", "at least": "至少", "at most": "至多"}[relation] + str(n)
    )
    place, frame = draws.text(_BOLD[draws.language])
    text = frame.replace("{r}", times)

    def check(answer: str) -> Finding:
        found = _MARK.findall(answer)
        listed = ", ".join(found) or "0"
        said = (
            f"{listed} = {len(found)} bold parts; asked for: {times}"
            if english
            else f"{listed} = {len(found)}处加粗，要求{times}处"
        )
        return Finding(holds(relation, len(found), n), said)

    def put(draft: Draft, many: int) -> None:
        while len(draft.sentences) < many:
            draft.sentences.append(sentence(draft.draws))
        draft.highlights = many

    def keep(draft: Draft) -> None:
        by = draft.draws.between(0, 1)
        put(draft, n if relation == "exactly" else n + by if relation == "at least" else n - by)

    def breaks(draft: Draft) -> None:
        more = relation == "at most" or (relation == "exactly" and draft.draws.chance(0.5))
        put(draft, n + draft.draws.between(1, 2) if more else n - draft.draws.between(1, 2))

    return Demand(
        name="highlight",
        title="Bold parts" if english else "加粗",
        text=text[0].upper() + text[1:],
        asks=f"{times} parts in bold" if english else f"{times}处加粗",
        part="marks",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )
