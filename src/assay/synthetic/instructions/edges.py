"""Demands on where a text begins and ends: a first phrase, a last one, a postscript, a title, quotation marks."""

from __future__ import annotations

import re
from collections.abc import Callable

from .. import vocabulary
from ..draws import Draws, Texts
from ..record import Finding
from .demand import Demand
from .draft import Draft

_BEGIN = {
    "en": Texts(
        train=(
            'Begin with "{w}".',
            'Start your answer with "{w}".',
            'The first words must be "{w}".',
            'Open with "{w}".',
            'Your text has to start with "{w}".',
            'Let the text begin with "{w}".',
            '"{w}" should come first.',
            'Put "{w}" at the very beginning.',
            'Make "{w}" the opening.',
            'The reply should open with "{w}".',
            'Before all else write "{w}".',
            'Start off with "{w}".',
            'It must begin with "{w}".',
            'Lead with "{w}".',
            'At the start there must be "{w}".',
        ),
        held=(
            'Nothing may stand before "{w}".',
            'Kick off with "{w}".',
            'The text sets out with "{w}".',
            'Use "{w}" as your first words.',
        ),
    ),
    "zh": Texts(
        train=(
            "以“{w}”开头。",
            "请用“{w}”开始。",
            "第一句话前先写“{w}”。",
            "全文须以“{w}”起首。",
            "开头必须是“{w}”。",
            "开篇写“{w}”。",
        ),
        held=("“{w}”之前不得有任何文字。", "请从“{w}”写起。"),
    ),
}
_END = {
    "en": Texts(
        train=(
            'End with "{w}".',
            'Finish your answer with "{w}".',
            'The last words must be "{w}".',
            'Close with "{w}".',
            'Your text has to end with "{w}".',
            'Let the text end with "{w}".',
            '"{w}" should come last.',
            'Put "{w}" at the very end.',
            'Conclude with "{w}".',
            'The reply should close with "{w}".',
            'After all else write "{w}".',
            'Nothing may follow "{w}" at the end.',
            'It must end with "{w}".',
            'Wrap up with "{w}".',
            'At the end there must be "{w}".',
        ),
        held=(
            'The final words are to be "{w}".',
            'Sign off with "{w}".',
            'Let "{w}" be the last thing I read.',
            'Use "{w}" as your closing words.',
        ),
    ),
    "zh": Texts(
        train=(
            "以“{w}”结尾。",
            "最后一句写“{w}”。",
            "全文须以“{w}”收尾。",
            "结尾必须是“{w}”。",
            "请用“{w}”结束。",
            "末尾写上“{w}”。",
        ),
        held=("“{w}”之后不得再有文字。", "请收在“{w}”。"),
    ),
}
_POSTSCRIPT = Texts(
    train=(
        "Add a postscript that starts with P.S.",
        "Put a P.S. at the end.",
        "Close with a postscript (P.S.).",
        "After the text, add a line that starts with P.S.",
        "There must be a P.S. at the end.",
        "Do not forget a postscript starting with P.S.",
        "Finish with a P.S. line.",
        "Include a P.S. after the text.",
        "Append a P.S.",
        "A P.S. is required.",
        "The last line should start with P.S.",
        "End on a line that begins with P.S.",
        "I want a P.S. below the text.",
        "Write a P.S. as well.",
        "It needs a P.S. at the bottom.",
    ),
    held=(
        "Tack a P.S. on below.",
        "Let a P.S. follow the text.",
        "The closing line opens with P.S.",
        "Leave room for a P.S. and write it.",
    ),
)
_TITLE = {
    "en": Texts(
        train=(
            "Put a title in double angle brackets, such as <<title>>, on top.",
            "Start with a title written as <<title>>.",
            "Give it a title in << and >>.",
            "The first line must be a title like <<this>>.",
            "Add a title, wrapped in <<>>.",
            "A title in double angle brackets must come first.",
            "Write a title as <<...>> above the text.",
            "It needs a heading in the form <<heading>>.",
            "Include a title in double angle brackets at the top.",
            "Set a title between << and >> in front.",
            "Head the text with a title such as <<one>>.",
            "Above the text, place <<a title>>.",
            "The text must carry a title in <<>>.",
            "Name the text in <<double angle brackets>> first.",
            "Use <<title>> as the form of a title on the first line.",
        ),
        held=(
            "A heading between << and >> is to stand on top.",
            "Mark the title by double angle brackets and put it first.",
            "Crown it with a title in the manner of <<title>>.",
            "Line one: the title, inside << >>.",
        ),
    ),
    "zh": Texts(
        train=(
            "开头写一个标题，格式为<<标题>>。",
            "第一行是用<<>>括起来的标题。",
            "请加标题，写成<<标题>>，放在最前。",
            "标题放在双尖括号<<>>里，置于开头。",
            "先写<<标题>>。",
            "文前须有<<标题>>。",
        ),
        held=("首行为标题，置于<<与>>之间。", "请以<<标题>>的形式题名于前。"),
    ),
}
_QUOTED = Texts(
    train=(
        "Wrap the whole answer in double quotation marks.",
        "Put your entire response in double quotes.",
        "The whole text must stand in double quotes.",
        "Begin and end with a double quotation mark.",
        "Enclose everything in double quotation marks.",
        "Set the answer in double quotes.",
        'The answer must look like "...".',
        "Surround the text with double quotation marks.",
        "Use double quotes around the full answer.",
        "All of it goes between double quotes.",
        "Quote the whole reply with double quotes.",
        "Your reply must be inside double quotation marks.",
        "Place a double quote first and last.",
        "Frame the text by double quotation marks.",
        "Nothing may stand outside the double quotes.",
    ),
    held=(
        "Have a double quote open and close the reply.",
        "From first to last sign it is one quotation in double marks.",
        "Bracket the answer by double quotes.",
        "Double quotation marks embrace the full text.",
    ),
)
_TITLE_FORM = re.compile(r"\s*<<[^<>\n]+>>")

_SAID = {
    "en": {
        "begins": 'it begins with "{x}"',
        "ends": 'it ends with "{x}"',
        "first": 'begins with "{w}"',
        "last": 'ends with "{w}"',
    },
    "zh": {"begins": "开头是“{x}”", "ends": "结尾是“{x}”", "first": "以“{w}”开头", "last": "以“{w}”结尾"},
}


def begin(draws: Draws) -> Demand:
    """A phrase that comes first."""
    phrase = _phrase(draws)
    place, frame = draws.text(_BEGIN[draws.language])
    said = _SAID[draws.language]

    def check(answer: str) -> Finding:
        head = answer.strip().lstrip('"')
        return Finding(head.casefold().startswith(phrase.casefold()), said["begins"].format(x=head[: len(phrase) + 8]))

    return _edge(
        draws,
        "begin",
        ("Opening", "开头"),
        frame.format(w=phrase),
        said["first"].format(w=phrase),
        place,
        check,
        "opening",
        phrase,
    )


def end(draws: Draws) -> Demand:
    """A phrase that comes last."""
    phrase = _phrase(draws)
    place, frame = draws.text(_END[draws.language])
    said = _SAID[draws.language]

    def check(answer: str) -> Finding:
        tail = answer.strip().rstrip('"')
        return Finding(tail.casefold().endswith(phrase.casefold()), said["ends"].format(x=tail[-len(phrase) - 8 :]))

    return _edge(
        draws,
        "end",
        ("Ending", "结尾"),
        frame.format(w=phrase),
        said["last"].format(w=phrase),
        place,
        check,
        "closing",
        phrase,
    )


def postscript(draws: Draws) -> Demand:
    """A last line that begins with P.S.; English only."""
    place, text = draws.text(_POSTSCRIPT)
    note = f"\nP.S. {draws.word(vocabulary.given)} sends greetings!"

    def check(answer: str) -> Finding:
        last = (answer.strip().rstrip('"').splitlines() or [""])[-1]
        return Finding(last.casefold().startswith("p.s."), f'the last line begins with "{last[:14]}"')

    return _edge(
        draws,
        "postscript",
        ("Postscript", ""),
        text,
        "a last line that begins with P.S.",
        place,
        check,
        "closing",
        note,
    )


def title(draws: Draws) -> Demand:
    """A title in double angle brackets in front."""
    english = draws.language == "en"
    place, text = draws.text(_TITLE[draws.language])
    words = draws.word(vocabulary.thing if english else vocabulary.zh_things)

    def check(answer: str) -> Finding:
        head = answer.strip().lstrip('"')
        said = _SAID["en" if english else "zh"]["begins"].format(x=(head.splitlines() or [""])[0][:24])
        return Finding(_TITLE_FORM.match(head) is not None, said)

    asks = "a title like <<title>> comes first" if english else "最前面是<<标题>>"
    return _edge(draws, "title", ("Title", "标题"), text, asks, place, check, "opening", f"<<{words}>>\n")


def quoted(draws: Draws) -> Demand:
    """The whole in double quotation marks; English only."""
    place, text = draws.text(_QUOTED)

    def check(answer: str) -> Finding:
        bare = answer.strip()
        met = len(bare) > 1 and bare[0] == bare[-1] == '"'
        return Finding(met, f"its first sign is {bare[:1] or 'none'} and its last {bare[-1:] or 'none'}")

    def keep(draft: Draft) -> None:
        draft.quoted = True

    def breaks(draft: Draft) -> None:
        if draft.draws.chance(0.5):
            draft.opening = '"'

    return Demand(
        name="quoted",
        title="Quotation marks",
        text=text,
        asks="the whole answer stands in double quotation marks",
        part="edges",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def _phrase(draws: Draws) -> str:
    if draws.language == "zh":
        return draws.word(vocabulary.zh_coined) + draws.pick(("你好！", "说明！", "报告！"))
    first = draws.word(vocabulary.coined).capitalize()
    return f"{first} {draws.pick(('friends', 'again', 'to all', 'speaking', 'at last', 'and on'))}!"


def _edge(
    draws: Draws,
    name: str,
    titles: tuple[str, str],
    text: str,
    asks: str,
    place: int,
    check: Callable[[str], Finding],
    where: str,
    phrase: str,
) -> Demand:
    """A demand that a phrase stands at an edge; broken by leaving it out, or by putting it at the other edge."""

    def put(draft: Draft, edge: str) -> None:
        if edge == "opening":
            draft.opening = phrase
        else:
            draft.closing = phrase

    def breaks(draft: Draft) -> None:
        if draft.draws.chance(0.4):
            put(draft, "closing" if where == "opening" else "opening")

    return Demand(
        name=name,
        title=titles[draws.language == "zh"],
        text=text,
        asks=asks,
        part="edges",
        place=place,
        check=check,
        keep=lambda draft: put(draft, where),
        breaks=breaks,
    )
