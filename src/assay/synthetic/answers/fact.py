"""Short facts: persons by family name, sentences that repeat the question, formulas and codes, names and by-names."""

from __future__ import annotations

from .. import vocabulary
from ..draws import Draws, Texts
from ..tables import split_words
from .case import Case, Written, forms

KIND = "fact"

ASKS_PERSON = {
    "en": Texts(
        train=(
            "Who composed the song of the {thing}?",
            "By whom was the hall in {place} designed?",
            "Who discovered the pass above {place}?",
            "Name the author of the book on {things}.",
            "Who was the first mayor of {place}?",
        ),
        held=("Whose idea was the canal of {place}?", "Who carved the {thing} in the museum of {place}?"),
    ),
    "zh": Texts(
        train=("{place}的大厅是谁设计的？", "谁写了关于{things}的书？", "{place}的第一任镇长是谁？"),
        held=("{place}的运河是谁提出的？", "博物馆里的{things}是谁做的？"),
    ),
}
ASKS_ROLE = {
    "en": Texts(
        train=(
            "{name} wants to see the {role} of {land}. What is its name?",
            "Which town is the {role} of {land}?",
            "Name the {role} of {land}.",
        ),
        held=("Of which town is it said that it is the {role} of {land}?", "{land} has a {role}. What is it called?"),
    ),
    "zh": Texts(
        train=("{land}的{role}是哪里？", "请说出{land}的{role}。", "哪里是{land}的{role}？"),
        held=("{land}有一个{role}，它叫什么？", "说到{land}的{role}，指的是哪里？"),
    ),
}
_ROLES = {
    "en": Texts(train=("capital", "main port", "oldest town", "seat", "largest market"), held=("chief town", "gate")),
    "zh": Texts(train=("首府", "主要港口", "最老的城镇", "最大的集市"), held=("中心城镇", "门户")),
}
ASKS_SIGN = {
    "en": Texts(
        train=(
            "What is the formula of {word}?",
            "How is the compound {word} written in short?",
            "Which sign stands for {word} on the chart of {name}?",
            "Give the code of the {thing} in the catalogue of {place}.",
            "Under which mark is the {thing} of {name} filed?",
        ),
        held=("Write the short sign of {word}.", "What does the label of {word} in {place} read?"),
    ),
    "zh": Texts(
        train=("{word}的化学式怎么写？", "{place}目录里{things}的编号是什么？", "{word}用什么符号表示？"),
        held=("写出{word}的简写符号。", "{name}的{things}标的是什么代号？"),
    ),
}
ASKS_ALIAS = {
    "en": Texts(
        train=(
            "In the land of {place} flow {list}. Which of them did {name} follow?",
            "The map shows {list}. Which one floods in spring?",
            "{list} meet near {place}. Which is the longest?",
        ),
        held=("Three waters are known: {list}. On which did {name} sail?", "Of {list}, which one runs dry?"),
    ),
    "zh": Texts(
        train=("{place}附近有{list}，{name}沿着哪一条走？", "地图上有{list}，哪一条最长？"),
        held=("已知{list}，哪一条会干涸？",),
    ),
}
ASKS_COMPOUND = {
    "en": Texts(
        train=(
            "The shelf of {name} holds {list}. Which of them turns blue?",
            "Of the substances {list} one is sold in {place}. Which?",
            "Which of {list} melts first?",
        ),
        held=("{name} weighs {list}. Which is the heaviest?", "One of {list} is missing in {place}. Say which."),
    ),
    "zh": Texts(
        train=("{name}的架子上有{list}，哪一种会变蓝？", "{list}之中，{place}出售的是哪一种？"),
        held=("{name}称了{list}，哪一种最重？",),
    ),
}
_ALIAS = {"en": "the river {name} (also called {alias})", "zh": "{name}（又名{alias}）"}
_ELEMENTS = split_words("B C F N O P S K Al Ba Br Ca Cl Co Cu Fe Li Mg Ni Pb Si Sn Zn Ag")
_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_BOTH = {"en": "{} ({})", "zh": "{}（{}）"}
_Way = tuple[str, str] | tuple[str, str, str]


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    return draws.pick((_person, _role, _sign, _alias, _compound))(draws)


def _case(
    question: tuple[str, str], sort: str, same: tuple[Written, ...], other: list[Written], references: int
) -> Case:
    text, template = question
    return Case(
        question=text[0].upper() + text[1:],
        template=f"{template}.{sort}",
        same=same,
        other=tuple(other),
        references=references,
    )


def _person(draws: Draws) -> Case:
    question = draws.ask(ASKS_PERSON)
    if draws.language == "zh":
        return _zh_person(draws, question)
    first, last = draws.word(vocabulary.given), draws.word(vocabulary.family)
    strange, alien = _another(draws, vocabulary.given, first), _another(draws, vocabulary.family, last)
    other: list[Written] = []
    for form, one, two in (
        ("other family name", first, alien),
        ("other given name", strange, last),
        ("stranger", strange, alien),
        ("other family name", first, _another(draws, vocabulary.family, last)),
    ):
        ways = _person_ways(one, two)
        # The family name alone would be right where only the given name differs.
        way = draws.pick(ways[:4] if two == last else ways)
        # Of a stranger's family name alone nothing says whose it is.
        other.append(Written(form, way[1], two if way[2:] else f"{one} {two}"))
    return _case(question, "person", forms(f"{first} {last}", *_person_ways(first, last)), other, 1)


def _another(draws: Draws, compose: vocabulary.Compose, word: str) -> str:
    while (other := draws.word(compose)) == word:
        pass
    return other


def _person_ways(first: str, last: str) -> list[_Way]:
    whole = f"{first} {last}"
    return [
        ("full", whole),
        ("family name first", f"{last}, {first}"),
        ("sentence", f"It was {whole}."),
        ("capitals", f"{first} {last.upper()}"),
        ("family name", last, f"{last} = {whole}"),
        ("title", f"Mr {last}", f"Mr {last} = {whole}"),
        ("sentence, family name", f"That was {last}.", f"{last} = {whole}"),
    ]


def _zh_person(draws: Draws, question: tuple[str, str]) -> Case:
    while len(whole := draws.word(vocabulary.zh_name)) != 3:
        pass
    alien = _another(draws, vocabulary.zh_name, whole)
    names = [
        ("stranger", alien),
        ("other family name", alien[0] + whole[1:]),
        ("other given name", whole[0] + alien[1:]),
    ]
    names += [("name cut off", whole[:2]), ("name continued", whole + alien[-1])]
    other = [Written(form, draws.pick(_zh_person_ways(name))[1], name) for form, name in names]
    return _case(question, "person", forms(whole, *_zh_person_ways(whole)), other, 1)


def _zh_person_ways(whole: str) -> list[tuple[str, str]]:
    return [("full", whole), ("sentence", f"是{whole}。"), ("title", f"{whole}先生"), ("marks", f"“{whole}”")]


def _role(draws: Draws) -> Case:
    compose = vocabulary.place if draws.language == "en" else vocabulary.zh_place
    _, role = draws.text(_ROLES[draws.language])
    town, land = draws.word(compose), draws.word(compose)
    wrong = [("other place", _another(draws, compose, town)), ("other place", _another(draws, compose, town))]
    wrong += [
        ("the place of the question", land),
        ("name continued", town + ("berg" if draws.language == "en" else "东")),
    ]
    other = [
        Written(form, draws.pick(_role_ways(draws, name, role, land))[1], name) for form, name in wrong if name != town
    ]
    same = forms(town, *_role_ways(draws, town, role, land))
    return _case(draws.ask(ASKS_ROLE, role=role, land=land), "role", same, other, 1)


def _role_ways(draws: Draws, town: str, role: str, land: str) -> list[tuple[str, str]]:
    if draws.language == "zh":
        return [
            ("plain", town),
            ("sentence", f"{land}的{role}是{town}。"),
            ("sentence, turned", f"{town}是{land}的{role}。"),
            ("short sentence", f"是{town}。"),
        ]
    return [
        ("plain", town),
        ("sentence", f"The {role} of {land} is {town}."),
        ("sentence, turned", f"{town} is the {role} of {land}."),
        ("with its sort", f"the town of {town}"),
        ("short sentence", f"It is {town}."),
        ("capitals", town.upper()),
    ]


def _sign(draws: Draws) -> Case:
    formula = draws.chance(0.65)
    parts = _parts(draws) if formula else []
    sign = "".join(parts) if formula else draws.word(_code)
    wrong = _formula_misses(draws, parts) if formula else _code_misses(draws, sign)
    other = [
        Written(form, draws.pick(_sign_ways(draws, text, formula))[1], text)
        for form, text in wrong
        if text and text != sign
    ]
    return _case(draws.ask(ASKS_SIGN), "sign", forms(sign, *_sign_ways(draws, sign, formula)), other, 2)


def _parts(draws: Draws) -> list[str]:
    """Signs of elements, each with a number behind it or none; the whole belongs to the side."""
    found: list[list[str]] = []

    def composed(drawn: Draws) -> str:
        parts = [one + drawn.pick(("", "", *"23456")) for one in drawn.some(_ELEMENTS, drawn.between(1, 3))]
        found[:] = [parts]
        return "".join(parts)

    draws.word(composed)
    return found[0]


def _code(draws: Draws) -> str:
    letters = "".join(draws.some("ABCDEFGHJKLMNPQRSTUVWXYZ", draws.between(1, 3)))
    return f"{letters}{draws.pick(('', '-'))}{draws.between(2, 999)}"


def _formula_misses(draws: Draws, parts: list[str]) -> list[tuple[str, str]]:
    at = draws.between(0, len(parts) - 1)
    part = parts[at]
    letters, count = part.rstrip("0123456789"), part.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    number = draws.pick([one for one in ("", *"23456") if one != count])
    strange = draws.pick([one for one in _ELEMENTS if one != letters])

    def whole(changed: str) -> str:
        return "".join([*parts[:at], changed, *parts[at + 1 :]])

    wrong = [
        ("number", whole(letters + number)),
        ("other element", whole(strange + count)),
        ("element too many", "".join([*parts, draws.pick(_ELEMENTS)])),
        ("number too many", "".join(parts) + draws.pick("2345")),
    ]
    if len(letters) > 1:
        wrong += [("letter missing", whole(letters[0] + count)), ("capital", whole(letters.upper() + count))]
    else:
        longer = [one for one in _ELEMENTS if len(one) > 1 and one[0] == letters]
        wrong += [("letter too many", whole(one + count)) for one in longer[:2]]
    if len(parts) > 1:
        wrong.append(("element missing", "".join(parts[:-1])))
    return wrong


def _code_misses(draws: Draws, code: str) -> list[tuple[str, str]]:
    digits = code.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ-")
    head = code[: len(code) - len(digits)]
    letter = draws.pick([one for one in "ABCDEFGHJKLMNPQRSTUVWXYZ" if one != code[0]])
    return [
        ("digit too many", code + draws.pick("0123456789")),
        ("digit missing", head + digits[:-1] if len(digits) > 1 else ""),
        ("number", head + str(int(digits) + draws.pick((1, 2, 10)))),
        ("letter", letter + code[1:]),
        ("letter too many", letter + code),
        ("digits turned", head + digits[::-1]),
    ]


def _sign_ways(draws: Draws, sign: str, formula: bool) -> list[tuple[str, str]]:
    english = draws.language == "en"
    same = [("plain", sign), ("bold", f"**{sign}**"), ("sentence", f"It is {sign}." if english else f"是{sign}。")]
    if not formula:
        return [*same, ("marks", f"“{sign}”"), ("sort", f"code {sign}" if english else f"编号{sign}")]
    tex = "".join(f"_{letter}" if letter.isdigit() else letter for letter in sign)
    same.insert(1, ("subscripts", sign.translate(_SUBSCRIPT)))
    return [*same, ("latex", f"\\mathrm{{{tex}}}"), ("latex in dollars", f"${tex}$")]


def _alias(draws: Draws) -> Case:
    compose = vocabulary.place if draws.language == "en" else _zh_river
    words: dict[str, None] = {}
    while len(words) < 6:
        words[draws.word(compose)] = None
    pairs = list(zip(*[iter(words)] * 2, strict=True))
    shown = [_ALIAS[draws.language].format(name=name, alias=alias) for name, alias in draws.shuffled(pairs)]
    listed = ("、" if draws.language == "zh" else ", ").join(shown)
    (name, alias), *rest = pairs
    other: list[Written] = []
    for one, two in rest:
        for way in draws.some(_alias_ways(draws, one, two), 3):
            other.append(Written("other river", way[1], one, *way[2:]))
    return _case(draws.ask(ASKS_ALIAS, list=listed), "alias", forms(name, *_alias_ways(draws, name, alias)), other, 1)


def _compound(draws: Draws) -> Case:
    """Substances with their formulas: the formula names the substance, a formula near it does not."""
    compose = vocabulary.coined if draws.language == "en" else vocabulary.zh_coined
    words: dict[str, list[str]] = {}
    while len(words) < 3:
        parts = _parts(draws)
        if len(parts) > 1 and parts not in words.values():
            words[draws.word(compose)] = parts
    pairs = [(word, "".join(parts)) for word, parts in words.items()]
    shown = [_BOTH[draws.language].format(name, formula) for name, formula in draws.shuffled(pairs)]
    (name, formula), *rest = pairs
    other = [
        Written("other substance", way[1], one, *way[2:])
        for one, two in rest
        for way in draws.some(_compound_ways(draws, one, two), 2)
    ]
    near = [miss for miss in _formula_misses(draws, words[name]) if miss[1] not in {text for _, text in pairs}]
    other += [Written(form, draws.pick((text, text.translate(_SUBSCRIPT))), text) for form, text in near]
    listed = ("、" if draws.language == "zh" else ", ").join(shown)
    same = forms(name, *_compound_ways(draws, name, formula))
    return _case(draws.ask(ASKS_COMPOUND, list=listed), "compound", same, other, 1)


def _compound_ways(draws: Draws, name: str, formula: str) -> list[_Way]:
    low = formula.translate(_SUBSCRIPT)
    tex = "".join(f"_{letter}" if letter.isdigit() else letter for letter in formula)
    return [
        ("plain", name),
        ("formula", formula, f"{formula} = {name}"),
        ("subscripts", low, f"{formula} = {name}"),
        ("formula, latex", f"$\\mathrm{{{tex}}}$", f"{formula} = {name}"),
        ("both in brackets", _BOTH[draws.language].format(name, low)),
    ]


def _alias_ways(draws: Draws, name: str, alias: str) -> list[_Way]:
    if draws.language == "zh":
        return [
            ("plain", name),
            ("by-name", alias, f"{alias} = {name}"),
            ("both", f"{name}，也叫{alias}"),
            ("both in brackets", f"{name}（{alias}）"),
            ("both, turned", f"{alias}，即{name}", f"{alias} = {name}"),
        ]
    return [
        ("plain", name),
        ("by-name", alias, f"{alias} = {name}"),
        ("both", f"{name}, also known as {alias}"),
        ("both in brackets", f"{name} ({alias})"),
        ("both, turned", f"{alias}, that is, {name}", f"{alias} = {name}"),
        ("with its sort", f"the river {name}"),
    ]


def _zh_river(draws: Draws) -> str:
    return vocabulary.zh_coined(draws) + draws.pick("河江溪水")
