"""Demands on single words: one that must not occur, one that must occur so often, a letter that must not."""

from __future__ import annotations

from .. import vocabulary
from ..draws import Draws, Texts
from ..record import Finding
from .counts import RELATIONS, holds
from .demand import Demand
from .draft import Draft, words_of
from .prose import plain_word

_FORBIDDEN = {
    "en": Texts(
        train=(
            'Do not use the word "{w}".',
            'Avoid the word "{w}".',
            'The word "{w}" must not appear.',
            'Leave out "{w}".',
            'Never write "{w}".',
            'Your text may not contain "{w}".',
            '"{w}" is forbidden.',
            'Do without the word "{w}".',
            'Keep "{w}" out of it.',
            "Don't mention {w}.",
            'Make no use of "{w}".',
            'Refrain from using "{w}".',
            'Exclude the word "{w}".',
            'The reply must be free of "{w}".',
            'Say nothing of "{w}".',
        ),
        held=(
            '"{w}" is a word that I do not wish to read.',
            'Steer clear of "{w}".',
            'Any use of "{w}" spoils it.',
            'Strike "{w}" from your vocabulary.',
        ),
    ),
    "zh": Texts(
        train=(
            "不要使用“{w}”。",
            "文中不得出现“{w}”。",
            "请避免“{w}”这个词。",
            "禁止写“{w}”。",
            "不能提到“{w}”。",
            "全文不含“{w}”。",
        ),
        held=("请勿让“{w}”出现在文中。", "“{w}”一词不许用。"),
    ),
}
_KEYWORD = {
    "en": Texts(
        train=(
            'Use the word "{w}" {r}.',
            'Include "{w}" {r}.',
            'The word "{w}" must appear {r}.',
            'Mention "{w}" {r}.',
            'Write "{w}" {r}.',
            'Let "{w}" occur {r}.',
            'Work in "{w}" {r}.',
            '"{w}" should be found {r} in the text.',
            'Say "{w}" {r}.',
            'Your text has to contain "{w}" {r}.',
            'Bring in "{w}" {r}.',
            'Make sure "{w}" is there {r}.',
            'Repeat "{w}" so that it stands there {r}.',
            'I want to read "{w}" {r}.',
            'Put "{w}" into the text {r}.',
        ),
        held=(
            'A search for "{w}" must find it {r}.',
            'Have "{w}" turn up {r}.',
            'Weave in "{w}" {r}.',
            'The term "{w}" is due {r}.',
        ),
    ),
    "zh": Texts(
        train=(
            "“{w}”要出现{r}。",
            "文中使用“{w}”{r}。",
            "请写到“{w}”{r}。",
            "必须包含“{w}”{r}。",
            "提到“{w}”{r}。",
            "让“{w}”出现{r}。",
        ),
        held=("“{w}”一词须见于文中{r}。", "请安排“{w}”{r}。"),
    ),
}
_TIMES = {
    "en": {"exactly": "exactly {n} times", "at least": "at least {n} times", "at most": "at most {n} times"},
    "zh": {"exactly": "正好{n}次", "at least": "至少{n}次", "at most": "至多{n}次"},
}
_LETTER = Texts(
    train=(
        'Do not use the letter "{w}".',
        'Write without the letter "{w}".',
        'The letter "{w}" must not occur.',
        'No word may contain "{w}".',
        'Avoid every "{w}".',
        'Leave the letter "{w}" out.',
        'Your text must be free of the letter "{w}".',
        'Use only words without "{w}".',
        'The key "{w}" is broken, so do not use it.',
        'Never use a word with "{w}" in it.',
        'Not one "{w}" is allowed.',
        'Skip all words with the letter "{w}".',
        'The character "{w}" is not permitted.',
        'Make sure that no "{w}" appears.',
        'Do without the letter "{w}".',
    ),
    held=(
        'Let no "{w}" slip in, be it large or small.',
        'Words that have a "{w}" are ruled out.',
        'Keep the text clear of the letter "{w}".',
        'Without a single "{w}", please.',
    ),
)
_LETTERS = "bcfgjkmpquvwyz"

_SAID = {
    "en": {
        "forbidden": 'without "{w}"',
        "free": '"{w}" does not occur',
        "there": '"{w}" occurs: {where}',
        "keyword": '"{w}" {r}',
        "times": '"{w}" occurs {many} times; asked for: {r}',
        "letter": 'no letter "{w}"',
        "clean": 'no word has "{w}"',
        "words": 'words with "{w}": {where}',
    },
    "zh": {
        "forbidden": "不出现“{w}”",
        "free": "没有出现“{w}”",
        "there": "出现了“{w}”：{where}",
        "keyword": "“{w}”出现{r}",
        "times": "“{w}”出现{many}次，要求{r}",
    },
}


def occurrences(text: str, word: str, language: str) -> int:
    """How often a word occurs: as a whole word in any case, or in Chinese as a run of characters."""
    if language == "zh":
        return text.count(word)
    return sum(one.casefold() == word.casefold() for one in words_of(text))


def forbidden(draws: Draws) -> Demand:
    """A word that must not occur."""
    word = _word(draws)
    place, frame = draws.text(_FORBIDDEN[draws.language])
    said = _SAID[draws.language]
    language = draws.language

    def check(answer: str) -> Finding:
        if occurrences(answer, word, language) == 0:
            return Finding(True, said["free"].format(w=word))
        return Finding(False, said["there"].format(w=word, where=_around(answer, word)))

    return Demand(
        name="forbidden",
        title="Forbidden word" if language == "en" else "禁用词",
        text=frame.format(w=word),
        asks=said["forbidden"].format(w=word),
        part="wording",
        place=place,
        check=check,
        keep=lambda _: None,
        breaks=lambda draft: _insert(draft, word, draft.draws.between(1, 2)),
    )


def keyword(draws: Draws) -> Demand:
    """A word that must occur so often."""
    word = _word(draws)
    language = draws.language
    n = draws.between(1, 4)
    relation = draws.pick(RELATIONS[:2]) if n == 1 else draws.pick(RELATIONS)
    times = _TIMES[language][relation].format(n=n).replace(" 1 times", " once")
    place, frame = draws.text(_KEYWORD[language])
    said = _SAID[language]

    def check(answer: str) -> Finding:
        many = occurrences(answer, word, language)
        return Finding(holds(relation, many, n), said["times"].format(w=word, many=many, r=times))

    def keep(draft: Draft) -> None:
        by = draft.draws.between(0, 1)
        _insert(draft, word, n if relation == "exactly" else n + by if relation == "at least" else n - by)

    def breaks(draft: Draft) -> None:
        more = relation == "at most" or (relation == "exactly" and draft.draws.chance(0.5))
        _insert(draft, word, n + draft.draws.between(1, 2) if more else n - 1)

    return Demand(
        name="keyword",
        title="Required word" if language == "en" else "必用词",
        text=frame.format(w=word, r=times),
        asks=said["keyword"].format(w=word, r=times),
        part="wording",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def letter(draws: Draws) -> Demand:
    """A letter that must not occur; English only."""
    sign = draws.pick(_LETTERS)
    place, frame = draws.text(_LETTER)
    said = _SAID["en"]

    def check(answer: str) -> Finding:
        found = [word for word in words_of(answer) if sign in word.casefold()]
        if not found:
            return Finding(True, said["clean"].format(w=sign))
        return Finding(False, said["words"].format(w=sign, where=", ".join(found[:5])))

    def keep(draft: Draft) -> None:
        for words in draft.sentences:
            for at, word in enumerate(words):
                while sign in words[at].casefold():
                    words[at] = plain_word(draft.draws)
                words[at] = words[at] if words[at] != word else word

    def breaks(draft: Draft) -> None:
        if not any(sign in word.casefold() for words in draft.sentences for word in words):
            word = vocabulary.coined(draft.draws)
            draft.sentences[-1].insert(1, word[:2] + sign + word[2:])

    return Demand(
        name="letter",
        title="Forbidden letter",
        text=frame.format(w=sign),
        asks=said["letter"].format(w=sign),
        part="wording",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def _word(draws: Draws) -> str:
    if draws.language == "zh":
        return draws.word(vocabulary.zh_coined)
    return draws.word(vocabulary.coined)


def _insert(draft: Draft, word: str, many: int) -> None:
    for _ in range(many):
        words = draft.sentences[draft.draws.between(0, len(draft.sentences) - 1)]
        words.insert(draft.draws.between(1, len(words)), word)


def _around(text: str, word: str) -> str:
    at = max(0, text.casefold().find(word.casefold()))
    return " ".join(text[max(0, at - 12) : at + len(word) + 12].split())
