"""Multiple choice: the letter, the letter dressed, the content; misses are the other letters and contents."""

from __future__ import annotations

from .. import vocabulary
from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "choice"

LETTERS = "ABCDE"

ASKS = {
    "en": Texts(
        train=(
            "Which one did {name} bring to {place}?\n{options}",
            "Choose the right answer: what is kept in {place}?\n{options}",
            "What did {name} {family} look for?\n{options}",
            "Pick one. The guild of {place} is known for:\n{options}",
            "Which of the following fits the record of {family}?\n{options}",
            "The missing entry is:\n{options}",
            "{name} asks which of these was sold first.\n{options}",
            "What stands on the seal of {place}?\n{options}",
            "Select the best answer. What did the {family} house trade?\n{options}",
            "Which was made in {place}?\n{options}",
            "What does {name} need for the repair?\n{options}",
            "One of these is true of {place}. Which?\n{options}",
            "Mark the entry that {name} noted.\n{options}",
            "Question for {name}: what was found?\n{options}",
            "What comes next in the list of {family}?\n{options}",
        ),
        held=(
            "Decide which of these the town of {place} bought.\n{options}",
            "{name} {family} lost one of them. Which one?\n{options}",
            "Tick the correct entry.\n{options}",
            "What hangs above the door in {place}?\n{options}",
        ),
    ),
    "zh": Texts(
        train=(
            "{name}带到{place}的是哪一个？\n{options}",
            "请选择正确答案：{place}保存的是什么？\n{options}",
            "{name}在找什么？\n{options}",
            "下列哪一项符合{place}的记录？\n{options}",
            "{place}出产的是：\n{options}",
            "{name}记下的是哪一项？\n{options}",
        ),
        held=("{place}买的是下面哪一项？\n{options}", "{name}丢了哪一个？\n{options}"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    contents = _contents(draws, draws.pick((4, 4, 4, 5)))
    right = draws.between(0, len(contents) - 1)
    style = draws.pick(("{}. {}", "({}) {}", "{}) {}", "{}: {}"))
    options = "\n".join(style.format(LETTERS[at], content) for at, content in enumerate(contents))
    question, template = draws.ask(ASKS, options=options)
    same = forms(LETTERS[right], *_forms(draws, right, contents[right]))
    other: list[Written] = []
    for at, content in enumerate(contents):
        if at != right:
            ways = _forms(draws, at, content)
            way = ways[draws.between(0, len(ways) - 1)]
            other.append(Written("other choice", way[1], LETTERS[at], *way[2:]))
    other.append(Written("no such choice", "F", "F"))
    return Case(question=question, template=template, same=same, other=tuple(other), references=3)


def _contents(draws: Draws, count: int) -> list[str]:
    contents: dict[str, None] = {}
    sort = draws.between(0, 2)
    compose = (
        (vocabulary.thing, vocabulary.place) if draws.language == "en" else (vocabulary.zh_things, vocabulary.zh_place)
    )
    while len(contents) < count:
        contents[str(draws.number(20, 9999)) if sort == 2 else draws.word(compose[sort])] = None
    return list(contents)


def _forms(draws: Draws, at: int, content: str) -> list[tuple[str, str] | tuple[str, str, str]]:
    letter = LETTERS[at]
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("letter", letter),
        ("brackets", f"({letter})"),
        ("content", content, f"{content} = {letter}"),
        ("letter and content", f"{letter}. {content}"),
        ("boxed", f"\\boxed{{{letter}}}"),
        ("bold", f"**{letter}**"),
        ("latex", f"$\\text{{{letter}}}$"),
    ]
    if draws.language == "en":
        same += [("option", f"Option {letter}"), ("sentence", f"It is {letter}."), ("small", letter.lower())]
    else:
        same += [("option", f"选{letter}"), ("sentence", f"选项{letter}")]
    return same
