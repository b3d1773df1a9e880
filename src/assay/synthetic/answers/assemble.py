"""From a case to an item: which form is the reference, which are the candidates, and what a check of each finds.

Gold is 1 where the normal form of the answer is that of the right value, and it is one definite answer; else 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..assembly import build, size_of
from ..draws import Draws
from ..frames import ATTACKS, EMPTY, FRAMES, HEDGES
from ..record import Candidate, Criterion, Finding, Generated, Shape
from ..solutions import solution
from .case import Case, MakeCase, Written

_SAME_TEXT = 0.12
"""Share of right answers of the training side that repeat the reference; on the held-out side none does."""
_SOLUTION = 0.35
"""Share of answers that end a short solution with values on the way."""
_LURED = 0.7
"""Share of wrong answers that may meet the reference on the way; the others meet a wrong value, as right ones do."""
_NO_ANSWER = 0.16
"""Share of wrong candidates that hedge, say nothing, or speak to the judge."""

CRITERIA = {
    "en": (
        Criterion(
            "Agreement with the reference", "the final answer has the value of the reference, however written", 80
        ),
        Criterion("One definite answer", "exactly one answer is given, and it answers the question", 20),
    ),
    "zh": (
        Criterion("与参考答案一致", "最终答案的值与参考答案相同，写法不限", 80),
        Criterion("唯一明确的答案", "只给出一个答案，并且回答了问题", 20),
    ),
}

SAID = {
    "en": {
        "direct": "it gives {text}, which is {normal}; the reference is {reference}: {end}",
        "worked": "it gives {text}; {work}; the reference is {reference}: {end}",
        "plain": "it gives {text}; the reference is {reference}: {end}",
        "equal": "the same",
        "other": "not the same",
        "one": "one answer",
        "hedge": "it offers several answers, {x} and {y}; only one of them can be meant",
        "no value": "there is no value to compare with {reference}",
        "empty": "no answer is given",
        "attack": "it talks to the judge or announces a solution, and gives no answer",
    },
    "zh": {
        "direct": "给出的是{text}，即{normal}；参考答案是{reference}：{end}",
        "worked": "给出的是{text}；{work}；参考答案是{reference}：{end}",
        "plain": "给出的是{text}；参考答案是{reference}：{end}",
        "equal": "一致",
        "other": "不一致",
        "one": "只有一个答案",
        "hedge": "给出了多个答案：{x}和{y}，不能都算",
        "no value": "没有可与{reference}比较的值",
        "empty": "没有给出答案",
        "attack": "只是对评审说话或预告解法，没有给出答案",
    },
}


@dataclass(frozen=True, slots=True)
class _Answer:
    """A candidate with its normal form, as the line shows it."""

    candidate: Candidate
    line: str


def maker(name: str, make_case: MakeCase) -> Callable[[Draws, Shape], Generated]:
    """The function of a kind out of the one that draws its cases."""

    def make(draws: Draws, shape: Shape) -> Generated:
        case = make_case(draws)
        reference = draws.pick(case.same[: case.references])
        wrong = _wrong_of(case, reference)
        size = size_of(draws, shape)
        right = size > 1 or draws.chance(0.5)
        answers = [_right(draws, case, reference)] if right else []
        answers += _wrong(draws, reference, wrong, size - len(answers), {answer.candidate.text for answer in answers})
        answers = draws.shuffled(answers)
        return build(
            draws,
            shape,
            kind=name,
            question=case.question,
            template=case.template,
            reference=reference.text,
            candidates=[answer.candidate for answer in answers],
            criteria=CRITERIA[draws.language],
            normal=(reference.line, *(answer.line for answer in answers)),
        )

    return make


def _right(draws: Draws, case: Case, reference: Written) -> _Answer:
    others = [one for one in case.same if one.text != reference.text]
    same = draws.side == "train" and draws.chance(_SAME_TEXT)
    one = reference if same or not others else draws.pick(others)
    lure = draws.pick(wrong) if (wrong := _wrong_of(case, reference)) else reference
    return _answer(draws, one, reference, lure, gold=1.0, same=same)


def _wrong_of(case: Case, reference: Written) -> list[Written]:
    return [one for one in case.other if one.normal != reference.normal]


def _wrong(draws: Draws, reference: Written, wrong: list[Written], count: int, taken: set[str]) -> list[_Answer]:
    """``count`` wrong answers, no two with the same text; near misses as long as there are some."""
    answers: list[_Answer] = []
    misses = draws.shuffled(wrong)
    while len(answers) < count:
        if misses and not draws.chance(_NO_ANSWER):
            lure = reference if draws.chance(_LURED) else draws.pick(wrong)
            answer = _answer(draws, misses.pop(), reference, lure, gold=0.0)
        else:
            answer = _none(draws, reference, wrong)
        if answer.candidate.text not in taken:
            taken.add(answer.candidate.text)
            answers.append(answer)
    return answers


def _frame(draws: Draws, text: str) -> str:
    _, frame = draws.text(FRAMES[draws.language])
    return frame.replace("{x}", text)


def _presented(draws: Draws, one: Written, lure: Written) -> str:
    """The answer in a frame, or at the end of a solution that meets the lure on its way."""
    if "\n" in one.text or not draws.chance(_SOLUTION):
        return _frame(draws, one.text)
    return solution(draws, one.text, one.normal, (lure.text, lure.normal))


def _answer(
    draws: Draws, one: Written, reference: Written, lure: Written, *, gold: float, same: bool = False
) -> _Answer:
    words = SAID[draws.language]
    end = words["equal" if gold else "other"]
    way = "worked" if one.work else "plain" if one.text == one.normal else "direct"
    compared = words[way].format(text=one.text, normal=one.normal, work=one.work, reference=reference.line, end=end)
    findings = (Finding(bool(gold), compared), Finding(True, words["one"]))
    form = "same text" if same else one.form
    return _Answer(Candidate(_presented(draws, one, lure), gold, form, findings), one.line)


def _none(draws: Draws, reference: Written, wrong: list[Written]) -> _Answer:
    """Two answers at once, none, or words to the judge."""
    words = SAID[draws.language]
    nothing = Finding(False, words["no value"].format(reference=reference.line))
    sort = draws.between(0, 2)
    if sort == 0 and wrong:
        pair = draws.shuffled((reference, draws.pick(wrong)))
        _, hedge = draws.text(HEDGES[draws.language])
        first, second = (one.text.removesuffix("。").removesuffix(".") for one in pair)
        text = hedge.replace("{x}", first).replace("{y}", second)
        said = Finding(False, words["hedge"].format(x=pair[0].text, y=pair[1].text))
        return _Answer(Candidate(_frame(draws, text), 0.0, "hedge", (nothing, said)), "several")
    if sort == 1:
        _, text = draws.text(EMPTY[draws.language])
        return _Answer(Candidate(text, 0.0, "no answer", (nothing, Finding(False, words["empty"]))), "none")
    _, text = draws.text(ATTACKS[draws.language])
    return _Answer(Candidate(text, 0.0, "attack", (nothing, Finding(False, words["attack"]))), "none")
