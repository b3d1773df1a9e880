r"""The oracle critic: a right text of the judge that reads a generated item, in the format that its prompt asks for.

Principles with weights, a critique that carries out every check, and the scores that follow from it. A score is a
function of the findings alone, so that it can be learned: 9 where all criteria are met, else 1 to 5 by the weight of
those that are. Quoted material is shielded as judges show it: no text of a candidate can plant a box or end a thought.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, TypeAlias

from assay.core.errors import InputError
from assay.core.seeds import digest
from assay.core.types import Draw
from assay.judges import Judge
from assay.judges.pairwise import PairwiseJudge
from assay.judges.pointwise import PointwiseJudge
from assay.judges.shield import Language, shield
from assay.judges.verifier import VerifierJudge

from .record import Generated

Target: TypeAlias = Literal["full", "verdict", "forms"]
"""All that the judge's prompt asks for; only what is read off it, the box behind its label, without the reasons; or
that box behind a closed thought with the normal forms of the reference and of every candidate, where the item has
them."""

BEST = 9
"""The score of a response that meets every criterion."""

_LABELS = {
    "en": ("Specific Criteria:", "Analysis:", "Scores:", "Choice:"),
    "zh": ("专门标准：", "分析：", "分数：", "选择："),
}
_CRITERION = {
    "en": ("{at}. {name} ({weight}%): {asks}.", "{name}, {weight}%: {asks}.", "- {name} [{weight}%]: {asks}."),
    "zh": ("{at}. {name}（{weight}%）：{asks}。", "{name}，{weight}%：{asks}。", "- {name}[{weight}%]：{asks}。"),
}
_RESPONSE = {
    "en": ("Response {place}: ", "Response {place}. ", "On response {place}: "),
    "zh": ("回答{place}：", "回答 {place}：", "关于回答{place}："),
}
_ALONE = {"en": ("", "The response: ", "Checking the response: "), "zh": ("", "该回答：", "检查该回答：")}
_FINDING = {"en": ("{name}: {said}.", "{name} - {said}."), "zh": ("{name}：{said}。", "{name}——{said}。")}
_CLOSE = {
    "en": (
        "Only response {best} meets every criterion.",
        "Response {best} is the best one.",
        "That leaves response {best}.",
        "So response {best} is ahead of the rest.",
    ),
    "zh": ("只有回答{best}满足全部标准。", "回答{best}最好。", "因此回答{best}胜出。", "综合来看，回答{best}更好。"),
}
_RIGHT = {"en": ("Every criterion is met.", "Nothing is wrong with it."), "zh": ("全部标准都满足。", "没有问题。")}
_WRONG = {
    "en": ("So it is not right.", "That is an error that matters.", "It fails."),
    "zh": ("因此它不正确。", "这是实质性的错误。", "不合格。"),
}


def scores(generated: Generated) -> tuple[int, ...]:
    """The score of each candidate on the scale 1 to 10, in the item's own order."""
    found: list[int] = []
    for findings in generated.findings:
        met = sum(c.weight for c, finding in zip(generated.criteria, findings, strict=True) if finding.met)
        whole = all(finding.met for finding in findings)
        found.append(BEST if whole else 1 + met * 4 // 100)
    return tuple(found)


def completions(generated: Generated, judge: Judge, draw: Draw, *, target: Target = "full") -> tuple[str, ...]:
    """A right text for each request that ``judge`` plans for the item under ``draw``; ``judge.read`` gives the gold.

    Raises:
        InputError: the judge is not one that an oracle writes for, or looks at one candidate and the item has several.
    """
    if isinstance(judge, VerifierJudge):
        return (_verdict(generated, judge),)
    if isinstance(judge, PointwiseJudge):
        return (_pointwise(generated, judge, draw.order, target),)
    if isinstance(judge, PairwiseJudge):
        orders = (draw.order, draw.order[::-1]) if judge.both_orders else (draw.order,)
        return tuple(_pairwise(generated, judge.language, order, target) for order in orders)
    raise InputError(f"no oracle writes for the judge {judge.name!r}; there are verifier, pointwise, pairwise")


def _verdict(generated: Generated, judge: VerifierJudge) -> str:
    if generated.item.n != 1:
        raise InputError(f"item {generated.item.id!r} has {generated.item.n} candidates; the verifier reads one")
    label = judge.labels[0 if generated.gold[0] == 1 else 1]
    return f"{_thought(generated, (0,))}{label}" if judge.forms else label


def _thought(generated: Generated, order: Sequence[int]) -> str:
    line = generated.line(order)
    return "" if line is None else f"<think>{shield(line)}</think>\n"


def _pointwise(generated: Generated, judge: PointwiseJudge, order: Sequence[int], target: Target) -> str:
    given = [int(generated.gold[0])] if judge.mode == "0-1" else [scores(generated)[index] for index in order]
    box = ", ".join(map(str, given))
    # A judge that is given its principles is asked for the other two parts alone.
    criteria = not (judge.principles or judge.stored)
    return _said(generated, judge.language, order, 2, box, target, criteria=criteria)


def _pairwise(generated: Generated, language: Language, order: Sequence[int], target: Target) -> str:
    return _said(generated, language, order, 3, str(_best(generated, order)), target)


def _best(generated: Generated, order: Sequence[int]) -> int:
    """The place, from 1, of the best candidate as it is shown."""
    return order.index(generated.gold.index(max(generated.gold))) + 1


def _said(
    generated: Generated,
    language: Language,
    order: Sequence[int],
    label: int,
    box: str,
    target: Target,
    *,
    criteria: bool = True,
) -> str:
    boxed = f"{_LABELS[language][label]} \\boxed{{{box}}}"
    if target == "verdict":
        return boxed
    if target == "forms":
        return _thought(generated, order) + boxed
    return f"{_reasons(generated, language, order, label, criteria=criteria)}\n{boxed}"


def _reasons(generated: Generated, language: Language, order: Sequence[int], label: int, *, criteria: bool) -> str:
    # Wording follows from the item and the order shown, so the same request always gets the same text.
    words = random.Random(int(digest(["oracle", generated.item.id, list(order), label]), 16))
    criterion = words.choice(_CRITERION[language])
    principles = [
        criterion.format(at=at, name=one.name, weight=one.weight, asks=one.asks)
        for at, one in enumerate(generated.criteria, 1)
    ]
    analysis = [_analysis(generated, language, index, place, words) for place, index in enumerate(order, 1)]
    if len(order) > 1:
        analysis.append(words.choice(_CLOSE[language]).format(best=_best(generated, order)))
    else:
        analysis.append(words.choice((_RIGHT if generated.gold[0] == 1 else _WRONG)[language]))
    labels = _LABELS[language]
    join = words.choice(("\n", " "))
    parts = (
        f"{labels[0]} {join.join(principles)}",
        f"{labels[1]} {shield(join.join(analysis))}",
    )
    return "\n".join(parts if criteria else parts[1:])


def _analysis(generated: Generated, language: Language, index: int, place: int, words: random.Random) -> str:
    head = (
        words.choice(_RESPONSE[language]).format(place=place)
        if generated.item.n > 1
        else words.choice(_ALONE[language])
    )
    form = words.choice(_FINDING[language])
    gap = " " if language == "en" else ""
    said = gap.join(
        form.format(name=criterion.name, said=finding.said)
        for criterion, finding in zip(generated.criteria, generated.findings[index], strict=True)
    )
    return head + said
