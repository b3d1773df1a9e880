"""Names of people: order, initials, titles, letter case, the family name alone where the question lists the people."""

from __future__ import annotations

from .. import vocabulary
from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "name"

ASKS = {
    "en": Texts(
        train=(
            "Who of {people} won the cup of {place}?",
            "{people} applied. Who was chosen?",
            "Among {people}, who kept the {things}?",
            "The list reads: {people}. Who signed it?",
            "Who wrote the letter? Possible writers: {people}.",
            "{people} met in {place}. Who spoke first?",
            "Which of {people} repaired the clock?",
            "In the race {people} took part. Who came second?",
            "Who owns the mill? The heirs are {people}.",
            "Name the builder of the tower in {place}; known are {people}.",
            "Out of {people} one paid the fee. Who?",
            "{people} share a house. Who has the key?",
            "Who, of {people}, was absent?",
            "The jury named one of {people}. Whom?",
            "Tell who painted it: {people}?",
        ),
        held=(
            "{people} stood for the council of {place}. Who got the seat?",
            "To whom of {people} does the {thing} belong?",
            "Of the guests {people}, who left last?",
            "One of {people} found the coin. Say who.",
        ),
    ),
    "zh": Texts(
        train=(
            "{people}中，谁赢得了{place}的奖杯？",
            "{people}参加了比赛，谁是第二名？",
            "{people}一起去了{place}，谁先发言？",
            "这封信是谁写的？可能的人有{people}。",
            "{people}之中谁缺席了？",
            "{people}三家之中，谁修好了钟？",
        ),
        held=("{people}竞选{place}的席位，谁当选？", "{people}中谁最后离开？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    if draws.language == "zh":
        return _zh_case(draws)
    people: list[tuple[str, str]] = []
    count = draws.between(3, 4)
    while len(people) < count:
        person = (draws.word(vocabulary.given), draws.word(vocabulary.family))
        if all(person[0] != other[0] and person[1] != other[1] and person[0][0] != other[0][0] for other in people):
            people.append(person)
    first, last = people[0]
    shown = ", ".join(f"{one} {two}" for one, two in draws.shuffled(people))
    question, template = draws.ask(ASKS, people=shown)
    normal = f"{first} {last}"
    other: list[Written] = []
    for one, two in people[1:]:
        ways = _forms(draws, one, two)
        other.append(Written("other person", ways[draws.between(0, len(ways) - 1)][1], f"{one} {two}"))
    strange, alien = draws.word(vocabulary.given), draws.word(vocabulary.family)
    other += [
        Written("names mixed", f"{first} {people[1][1]}", f"{first} {people[1][1]}"),
        Written("names mixed", f"{people[1][0]} {last}", f"{people[1][0]} {last}"),
        Written("other given name", f"{strange} {last}", f"{strange} {last}"),
        Written("other family name", f"{first} {alien}", f"{first} {alien}"),
        Written("stranger", f"{strange} {alien}", f"{strange} {alien}"),
    ]
    same = forms(normal, *_forms(draws, first, last))
    return Case(question=question, template=template, same=same, other=tuple(other), references=1)


def _forms(draws: Draws, first: str, last: str) -> list[tuple[str, str] | tuple[str, str, str]]:
    whole = f"{first} {last}"
    return [
        ("full", whole),
        ("family name first", f"{last}, {first}"),
        ("initial", f"{first[0]}. {last}", f"{first[0]}. {last} = {whole}"),
        ("title", f"{draws.pick(('Mr', 'Ms', 'Dr', 'Prof.'))} {whole}"),
        ("family name", last, f"{last} = {whole}"),
        ("given name", first, f"{first} = {whole}"),
        ("capitals", whole.upper()),
        ("small letters", whole.lower()),
        ("sentence", f"It was {whole}."),
        ("bold", f"**{whole}**"),
    ]


def _zh_case(draws: Draws) -> Case:
    people: list[str] = []
    count = draws.between(3, 4)
    while len(people) < count:
        person = draws.word(vocabulary.zh_name)
        if len(person) == 3 and all(person[0] != other[0] for other in people):
            people.append(person)
    question, template = draws.ask(ASKS, people="、".join(draws.shuffled(people)))
    whole = people[0]
    title = draws.pick(("先生", "女士", "老师", "同学"))
    other = [Written("other person", draws.pick((one, f"{one}{title}", f"是{one}。")), one) for one in people[1:]]
    alien = draws.word(vocabulary.zh_name)
    other += [
        Written("other given name", whole[0] + people[1][1:], whole[0] + people[1][1:]),
        Written("other family name", people[1][0] + whole[1:], people[1][0] + whole[1:]),
        Written("stranger", alien, alien),
    ]
    same = [
        ("full", whole),
        ("title", f"{whole}{title}"),
        ("given name", whole[1:], f"{whole[1:]} = {whole}"),
        ("sentence", f"是{whole}。"),
        ("bold", f"**{whole}**"),
        ("family name and title", f"{whole[0]}{title}", f"{whole[0]}{title} = {whole}"),
    ]
    return Case(question=question, template=template, same=forms(whole, *same), other=tuple(other), references=1)
