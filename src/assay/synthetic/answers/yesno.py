"""Yes and no in many words; the misses are the other answer in as many words, and no decision at all."""

from __future__ import annotations

from ..draws import Draws, Texts
from .case import Case, Written, forms

KIND = "yesno"

ASKS = {
    "en": Texts(
        train=(
            "Is the number {number} held by {name}?",
            "Did {name} {family} visit {place}?",
            "Is {place} larger than {place2}?",
            "Are the {things} of {name} sold out?",
            "Was the bridge of {place} rebuilt?",
            "Can {name} lift {number} kg?",
            "Does the claim of {family} hold?",
            "Is it true that {name} owns {things}?",
            "Will the ferry to {place} run?",
            "Has {name} paid the bill of {number} coins?",
            "Is {number} allowed by the rule of {family}?",
            "Do the two lists of {name} agree?",
            "Could the {family} proof be completed?",
            "Is the statement about {place} right?",
            "Were there more than {number} guests in {place}?",
        ),
        held=(
            "Has the gate of {place} ever been shut?",
            "Does {name} {family} live in {place}?",
            "Is the seal on the {things} whole?",
            "Would {number} of them suffice for {name}?",
        ),
    ),
    "zh": Texts(
        train=(
            "{name}去过{place}吗？",
            "{place}比{place2}大吗？",
            "{name}的{things}卖完了吗？",
            "关于{place}的说法对吗？",
            "{number}个够{name}用吗？",
            "{place}的大桥重建过吗？",
        ),
        held=("{name}住在{place}吗？", "{place}的大门关过吗？"),
    ),
}

_YES = {
    "en": Texts(
        train=(
            "yes",
            "Yes.",
            "YES",
            "Yes, it is so.",
            "Yes, indeed.",
            "Indeed.",
            "True",
            "true",
            "Correct.",
            "Certainly.",
            "It is true.",
            "That is right.",
            "That is the case.",
            "Affirmative.",
            "Of course.",
            "Definitely yes.",
            "y",
            "Yep",
            "The answer is yes.",
            "Yes, without doubt.",
            "This holds.",
            "Absolutely.",
            "Right.",
            "Sure.",
            "It does.",
            "Yes, because it was checked twice.",
            "yes, since nothing speaks against it",
        ),
        held=(
            "Yes, that is so.",
            "It is the case.",
            "Most certainly.",
            "The statement is true.",
            "Yeah",
            "Quite so.",
            "By all means, yes.",
            "Yes, for all conditions are met.",
        ),
    ),
    "zh": Texts(
        train=(
            "是",
            "是的",
            "对",
            "对的。",
            "正确",
            "没错",
            "是的，没错。",
            "确实如此",
            "当然",
            "真",
            "成立",
            "答案是肯定的。",
            "是，因为条件都满足",
        ),
        held=("是这样的。", "的确", "说得对", "肯定的"),
    ),
}
_NO = {
    "en": Texts(
        train=(
            "no",
            "No.",
            "NO",
            "No, it is not so.",
            "Not at all.",
            "False",
            "false",
            "Incorrect.",
            "Certainly not.",
            "It is false.",
            "That is wrong.",
            "That is not the case.",
            "Negative.",
            "Of course not.",
            "Definitely not.",
            "n",
            "Nope",
            "The answer is no.",
            "No, without doubt.",
            "This does not hold.",
            "Absolutely not.",
            "Wrong.",
            "It does not.",
            "By no means.",
            "It is not true.",
            "No, because one condition fails.",
            "no, since it was disproved",
        ),
        held=(
            "No, that is not so.",
            "It is not the case.",
            "Most certainly not.",
            "The statement is false.",
            "Nah",
            "Not so.",
            "In no way.",
            "No, for a counterexample is known.",
        ),
    ),
    "zh": Texts(
        train=(
            "否",
            "不是",
            "不",
            "不对",
            "错误",
            "不正确",
            "不是的，错了。",
            "并非如此",
            "当然不是",
            "假",
            "不成立",
            "答案是否定的。",
            "不是，因为有一个条件不满足",
        ),
        held=("不是这样的。", "绝非", "说得不对", "否定的"),
    ),
}
_OPEN = {
    "en": Texts(
        train=(
            "Perhaps.",
            "It cannot be said.",
            "Maybe.",
            "Unclear.",
            "It depends.",
            "Not enough information.",
            "Yes and no.",
        ),
        held=("Hard to tell.", "Possibly.", "There is no way to know."),
    ),
    "zh": Texts(train=("也许", "不确定", "无法判断", "看情况", "可能是，也可能不是"), held=("说不准", "不好说")),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    question, template = draws.ask(ASKS, number=draws.number(20, 999))
    truth = draws.chance(0.5)
    yes, no = _words(draws, _YES), _words(draws, _NO)
    right, wrong = (yes, no) if truth else (no, yes)
    normal, opposite = ("yes", "no") if truth else ("no", "yes")
    plain = {"en": ("Yes", "No"), "zh": ("是", "否")}[draws.language][not truth]
    other = [Written("opposite", text, opposite) for text in draws.some(wrong, 4)]
    other.append(Written("undecided", draws.pick(_words(draws, _OPEN)), "undecided"))
    same = forms(normal, ("plain", plain), *(("in words", text) for text in draws.some(right, 4)))
    return Case(question=question, template=template, same=same, other=tuple(other), references=1)


def _words(draws: Draws, texts: dict[str, Texts]) -> tuple[str, ...]:
    own = texts[draws.language]
    return own.train if draws.side == "train" else own.held
