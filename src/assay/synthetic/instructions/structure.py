"""Demands on the whole: a JSON object with given keys, a list in a given order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .. import vocabulary
from ..draws import Draws, Texts
from ..record import Finding
from .demand import Demand
from .draft import Draft

_JSON = {
    "en": Texts(
        train=(
            "Answer with a JSON object that has the keys {k} and nothing else.",
            "Reply in JSON only, with the keys {k}.",
            "The whole answer must be one JSON object with exactly the keys {k}.",
            "Give it as JSON; keys: {k}.",
            "Output only JSON with these keys: {k}.",
            "Your answer must parse as a JSON object whose keys are {k}.",
            "Return one JSON object with {k} as its keys.",
            "Use JSON with the keys {k} and no other text.",
            "Format the answer as a JSON object (keys {k}).",
            "I parse your reply as JSON; it must have the keys {k} and no others.",
            "Put everything into a JSON object with the keys {k}.",
            "JSON, please, with exactly these keys: {k}.",
            "Write nothing but a JSON object that holds {k}.",
            "The reply is read by a program: a JSON object with the keys {k}.",
            "Present it as a JSON object whose only keys are {k}.",
        ),
        held=(
            "A machine reads this, so send a bare JSON object keyed by {k}.",
            "Encode your answer as JSON under the keys {k}, with nothing around it.",
            "Supply {k} as the keys of one JSON object and stop there.",
            "Only JSON is accepted; its keys: {k}, no more, no fewer.",
        ),
    ),
    "zh": Texts(
        train=(
            "只输出一个 JSON 对象，键为 {k}。",
            "请用 JSON 回答，键是 {k}，不要其他文字。",
            "回答必须是只含键 {k} 的 JSON 对象。",
            "以 JSON 格式给出，键：{k}。",
            "输出 JSON，键恰为 {k}。",
            "整个回答是一个 JSON 对象，键为 {k}。",
        ),
        held=("程序会读取回答：请仅给出以 {k} 为键的 JSON 对象。", "把内容编成 JSON，键为 {k}，前后不加文字。"),
    ),
}
_SORTED = {
    "en": Texts(
        train=(
            "Put these in {o} order, one a line: {l}.",
            "List in {o} order, one a line: {l}.",
            "Sort {l} in {o} order, one a line.",
            "Arrange {l} in {o} order; one a line.",
            "Write {l} one a line, in {o} order.",
            "Give the entries {l} in {o} order, one a line.",
            "Order {l} so that they are in {o} order, one a line.",
            "Here are some entries: {l}. Write them in {o} order, one a line.",
            "Bring {l} into {o} order (one a line).",
            "In {o} order, one a line: {l}.",
            "Rank {l} in {o} order and write one a line.",
            "Sort the following in {o} order, one a line: {l}.",
            "Make a list in {o} order out of {l}, one a line.",
            "Output {l} in {o} order, each on its own line.",
            "I need {l} in {o} order, each on a line of its own.",
        ),
        held=(
            "Line up {l} in {o} order, a line for each.",
            "Rearrange {l}: {o} order, a line each.",
            "Take {l} and set them out in {o} order, one to a line.",
            "File {l} away in {o} order, line by line.",
        ),
    ),
    "zh": Texts(
        train=(
            "把 {l} 按{o}顺序排列，每行一个。",
            "请按{o}顺序写出 {l}，一行一个。",
            "将 {l} 排成{o}顺序，每行一个。",
            "按{o}顺序列出：{l}，每行一个。",
            "{l}，请按{o}排序，每行一个。",
            "以{o}顺序输出 {l}，各占一行。",
        ),
        held=("请让 {l} 依{o}次序各占一行。", "依{o}次序逐行写出 {l}。"),
    ),
}
_ORDERS = {
    "en": {
        "up": ("ascending", "rising", "increasing"),
        "down": ("descending", "falling", "decreasing"),
        "letters": ("alphabetical",),
        "back": ("reverse alphabetical",),
    },
    "zh": {"up": ("从小到大的", "升序"), "down": ("从大到小的", "降序"), "letters": (), "back": ()},
}


def json_object(draws: Draws) -> Demand:
    """A JSON object with exactly these keys."""
    english = draws.language == "en"
    keys = sorted({draws.word(vocabulary.coined) for _ in range(draws.between(2, 4))})
    place, frame = draws.text(_JSON[draws.language])
    shown = ", ".join(f'"{key}"' for key in keys)

    def check(answer: str) -> Finding:
        found = _keys(answer)
        if found is None:
            return Finding(False, "it is no JSON object" if english else "不是 JSON 对象")
        said = ", ".join(found) or "0"
        less = [key for key in keys if key not in found]
        more = [key for key in found if key not in keys]
        tail = (
            f"; missing: {', '.join(less) or '-'}; foreign: {', '.join(more) or '-'}"
            if english
            else f"；缺少：{', '.join(less) or '无'}；多余：{', '.join(more) or '无'}"
        )
        return Finding(not less and not more, (f"its keys are {said}" if english else f"它的键是 {said}") + tail)

    def keep(draft: Draft) -> None:
        draft.whole = _object(draft.draws, keys)

    def breaks(draft: Draft) -> None:
        draft.whole = _broken(draft.draws, keys)

    return Demand(
        name="json",
        title="JSON object" if english else "JSON 对象",
        text=frame.replace("{k}", shown),
        asks=f"one JSON object with exactly the keys {shown}" if english else f"一个键恰为 {shown} 的 JSON 对象",
        part="whole",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def _keys(answer: str) -> list[str] | None:
    try:
        value: Any = json.loads(answer)
    except ValueError:
        return None
    return [str(key) for key in value] if isinstance(value, dict) else None


def _object(draws: Draws, keys: Sequence[str]) -> str:
    values: dict[str, Any] = {key: _value(draws) for key in draws.shuffled(keys)}
    return json.dumps(values, indent=draws.pick((None, None, 2)), ensure_ascii=False)


def _value(draws: Draws) -> Any:
    english = draws.language == "en"
    words = vocabulary.thing(draws) if english else vocabulary.zh_things(draws)
    return draws.pick((words, draws.between(1, 999), draws.chance(0.5), [words]))


def _broken(draws: Draws, keys: Sequence[str]) -> str:
    sort = draws.between(0, 4)
    good = _object(draws, keys)
    if sort == 0:
        return _object(draws, keys[:-1])
    if sort == 1:
        return _object(draws, [*keys, draws.word(vocabulary.coined)])
    if sort == 2:
        return good[:-1]
    if sort == 3:
        return f"Here is the object: {good}" if draws.language == "en" else f"结果如下：{good}"
    return _object(draws, [*keys[:-1], keys[-1].capitalize()])


def in_order(draws: Draws) -> Demand:
    """Entries in a given order, one a line."""
    language = draws.language
    sorts = [name for name, words in _ORDERS[language].items() if words]
    order = draws.pick(sorts)
    numbers = order in ("up", "down")
    many = draws.between(4, 7)
    entries = list(
        dict.fromkeys(str(draws.number(20, 999)) if numbers else draws.word(vocabulary.coined) for _ in range(many))
    )
    right = sorted(entries, key=int if numbers else None, reverse=order in ("down", "back"))
    place, frame = draws.text(_SORTED[language])
    word = draws.pick(_ORDERS[language][order])
    text = frame.replace("{o}", word).replace("{l}", ("、" if language == "zh" else ", ").join(draws.shuffled(entries)))

    def check(answer: str) -> Finding:
        lines = [line.strip() for line in answer.strip().splitlines()]
        return Finding(lines == right, _compared(lines, right, language))

    def keep(draft: Draft) -> None:
        draft.whole = "\n".join(right)

    def breaks(draft: Draft) -> None:
        draft.whole = "\n".join(_disordered(draft.draws, right))

    return Demand(
        name="order",
        title="Order" if language == "en" else "顺序",
        text=text[0].upper() + text[1:],
        asks=f"all entries in {word} order, one a line" if language == "en" else f"全部条目按{word}顺序，每行一个",
        part="whole",
        place=place,
        check=check,
        keep=keep,
        breaks=breaks,
    )


def _disordered(draws: Draws, right: Sequence[str]) -> list[str]:
    wrong = list(right)
    sort = draws.between(0, 3)
    at = draws.between(0, len(right) - 2)
    if sort == 0:
        wrong[at], wrong[at + 1] = wrong[at + 1], wrong[at]
    elif sort == 1:
        wrong.reverse()
    elif sort == 2:
        wrong.pop(at)
    else:
        other = draws.between(0, len(right) - 1)
        wrong[at], wrong[other] = wrong[other], wrong[at]
        wrong[0], wrong[-1] = wrong[-1], wrong[0]
    return wrong


def _compared(lines: Sequence[str], right: Sequence[str], language: str) -> str:
    """The right order, and where the answer first leaves it."""
    due = " < ".join(right)
    if list(lines) == list(right):
        return f"due is {due}, and so it stands" if language == "en" else f"应为 {due}，与之相同"
    at = next(
        (at for at, (one, other) in enumerate(zip(lines, right, strict=False)) if one != other),
        min(len(lines), len(right)),
    )
    given = lines[at] if at < len(lines) else "-"
    wanted = right[at] if at < len(right) else "-"
    if language == "en":
        return f"due is {due}; line {at + 1} is {given[:30]} where {wanted} is due"
    return f"应为 {due}；第{at + 1}行是 {given[:30]}，应为 {wanted}"
