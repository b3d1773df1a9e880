"""Plain sentences about nothing, as lists of words: the stuff that demands are made on."""

from __future__ import annotations

from .. import vocabulary
from ..draws import Draws, Texts
from ..tables import split_words

_TRAITS = split_words(
    "big bright broken calm cheap clean cold dark deep dry dull dusty empty faint fine flat fresh full grey "
    "heavy hollow light little long loud low narrow new odd old pale plain quiet rare rough round sharp short "
    "slow small smooth soft solid square strong tall thick thin warm wet wide worn young"
)
_DEEDS = split_words(
    "bought brought built carried cleaned counted drew dropped fetched fixed found gave held hid kept left "
    "lent lifted lost made marked mended moved needed opened painted passed placed put saved sent showed sold "
    "stored studied took tried used wanted washed weighed"
)
_PLACES = split_words(
    "above after before behind below beside from inside near over past through towards under with without"
)
_TIMES = split_words(
    "again already early first indeed later mostly never now often once rarely seldom slowly sometimes soon "
    "still then today twice usually yesterday"
)
_OPENERS = split_words("today yesterday later once meanwhile indeed then still finally again")
_ZH_DEEDS = split_words(
    "搬走了 保存了 带来了 丢失了 发现了 擦洗了 卖掉了 收集了 送来了 修好了 需要 研究过 找到了 制作了"
)
_ZH_TIMES = split_words("昨天 今天 上周 后来 有时 再次 一早 傍晚 终于 曾经")
_ZH_TRAITS = split_words("很旧 很轻 很重 很亮 不大 完好 干净 结实 少见 便宜")


def sentence(draws: Draws) -> list[str]:
    """The words of one sentence, in the case of the middle of a sentence, without its end."""
    if draws.language == "zh":
        return _zh_sentence(draws)
    first, second = _thing(draws), _thing(draws)
    name, town = draws.word(vocabulary.given), draws.word(vocabulary.place)
    sort = draws.between(0, 3)
    if sort == 0:
        return [name, draws.pick(_DEEDS), "the", draws.pick(_TRAITS), *first, draws.pick(_PLACES), "the", *second]
    if sort == 1:
        return ["the", *first, "of", name, "was", draws.pick(_TRAITS), "and", draws.pick(_TRAITS)]
    if sort == 2:
        return ["in", town, "the", draws.pick(_TRAITS), *first, "stood", draws.pick(_PLACES), "a", *second]
    return ["a", draws.pick(_TRAITS), *first, draws.pick(_TIMES), "lay", "near", town]


def opener(draws: Draws) -> str:
    """A word that a sentence may begin with, before a comma."""
    return draws.pick(_OPENERS if draws.language == "en" else _ZH_TIMES)


def extra(draws: Draws) -> str:
    """A word that can be put in anywhere."""
    return draws.pick(_TIMES if draws.language == "en" else _ZH_TIMES)


def plain_word(draws: Draws) -> str:
    """A word that can stand for any other one."""
    if draws.language == "zh":
        return draws.word(vocabulary.zh_things)
    return draws.pick(draws.pick((_TRAITS, _TIMES, _PLACES)))


def subject(draws: Draws) -> str:
    """What a text is to be about."""
    if draws.language == "zh":
        return draws.word(vocabulary.zh_things if draws.chance(0.5) else vocabulary.zh_place)
    return f"the {draws.word(vocabulary.thing)}" if draws.chance(0.6) else draws.word(vocabulary.place)


def _thing(draws: Draws) -> list[str]:
    return vocabulary.thing(draws).split()


def _zh_sentence(draws: Draws) -> list[str]:
    name, thing = draws.word(vocabulary.zh_name), vocabulary.zh_things(draws)
    if draws.chance(0.5):
        return [name, draws.pick(_ZH_TIMES), "在", draws.word(vocabulary.zh_place), draws.pick(_ZH_DEEDS), thing]
    return [name, "的", thing, draws.pick(_ZH_TRAITS)]


TASKS = {
    "en": Texts(
        train=(
            "Write a short text about {subject}.",
            "Tell me something about {subject}.",
            "Describe {subject}.",
            "Compose a few lines on {subject}.",
            "I need a note about {subject}.",
            "Please write about {subject}.",
            "Give a brief account of {subject}.",
            "Draft a post about {subject}.",
            "Make up a story about {subject}.",
            "What can be said about {subject}?",
            "Write an entry on {subject} for a local paper.",
            "Produce a text on {subject}.",
            "Say something about {subject}.",
            "Prepare a caption on {subject}.",
            "Put together a text about {subject}.",
        ),
        held=(
            "Sketch {subject} in writing.",
            "Report on {subject}.",
            "Could you jot down a text on {subject}?",
            "Invent a passage about {subject}.",
        ),
    ),
    "zh": Texts(
        train=(
            "写一段关于{subject}的文字。",
            "介绍一下{subject}。",
            "请描述{subject}。",
            "以{subject}为题写几句话。",
            "写一则关于{subject}的便条。",
            "编一个关于{subject}的小故事。",
            "谈谈{subject}。",
        ),
        held=("就{subject}写一段报道。", "请为{subject}拟一段文字。"),
    ),
}
