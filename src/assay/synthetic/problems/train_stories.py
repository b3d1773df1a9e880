"""The stories of the training side: a family draws a problem with its steps. None is shared with the held-out side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ..draws import Draws, Slots
from .chain import Operation, Problem, Ref, Step

Family: TypeAlias = Callable[[Draws], Problem]

_STOCK = {
    "en": (
        "{name} has {n} {things}.",
        "There are {n} {things} in a shed of {name} in {place}.",
        "{name} starts with {n} {things}.",
    ),
    "zh": ("{name}有{n}个{things}。", "{place}的仓库里有{n}个{things}，由{name}看管。"),
}
_MORE = {
    "en": ("Then {k} more arrive.", "A cart brings {k} more.", "{k} are added.", "{name2} brings another {k}."),
    "zh": ("又运来{k}个。", "增加了{k}个。"),
}
_FEWER = {
    "en": ("{k} are sold.", "{k} of them break.", "{k} are given away.", "{name2} takes {k} of them."),
    "zh": ("卖掉了{k}个。", "损坏了{k}个。"),
}
_HALF = {"en": ("Half of them are moved away.", "Every second one is lent out."), "zh": ("搬走了一半。",)}
_TIMES = {"en": ("The number grows to {k} times what it was.",), "zh": ("数量变为原来的{k}倍。",)}
_STOCK_STEPS: Mapping[Operation, Mapping[str, Sequence[str]]] = {
    "+": {"en": ("Adding gives {eq}.", "After that there are {eq}."), "zh": ("增加后为 {eq}。", "此时有 {eq}。")},
    "-": {"en": ("Taking these away leaves {eq}.", "There remain {eq}."), "zh": ("剩下 {eq}。", "减少后为 {eq}。")},
    ":": {"en": ("Half of that is {eq}.",), "zh": ("一半是 {eq}。",)},
    "x": {"en": ("Multiplied, that is {eq}.",), "zh": ("乘以倍数得 {eq}。",)},
}
_STOCK_ASKS = {
    "en": ("How many are there now?", "How many are left in the end?", "What is the number at the end?"),
    "zh": ("现在有多少个？", "最后有多少个？"),
}


def stock(draws: Draws) -> Problem:
    """A quantity through three to seven events."""
    language = draws.language
    have = draws.number(20, 900)
    slots = Slots(draws, {"n": have})
    story = [draws.pick(_STOCK[language]).format_map(slots)]
    steps: list[Step] = []
    for _ in range(draws.between(3, 7)):
        told, operation, number, new = _event(draws, have)
        slots["k"] = number
        story.append(draws.pick(told[language]).format_map(slots))
        left = Ref(len(steps) - 1) if steps else have
        steps.append(Step(draws.pick(_STOCK_STEPS[operation][language]), operation, left, number))
        have = new
    story.append(draws.pick(_STOCK_ASKS[language]))
    english = language == "en"
    return Problem(question=(" " if english else "").join(story), steps=tuple(steps), unit="" if english else "个")


def _event(draws: Draws, have: int) -> tuple[Mapping[str, Sequence[str]], Operation, int, int]:
    """What happens to a stock: its tellings, the operation, its number, and what there is afterwards."""
    sort = draws.between(0, 3)
    if sort == 2 and have % 2 == 0 and have > 3:
        return _HALF, ":", 2, have // 2
    if sort == 3 and have <= 3000:
        times = draws.between(2, 5)
        return _TIMES, "x", times, have * times
    if sort == 1 and have > 3:
        fewer = draws.between(1, have // 2)
        return _FEWER, "-", fewer, have - fewer
    more = draws.between(2, 300)
    return _MORE, "+", more, have + more


_PURCHASE = {
    "en": {
        "line": "{many} {thing} at {price} coins each",
        "cost": "The {thing} cost {{eq}}.",
        "sum": "Together that is {eq}.",
        "with fee": "With the fee it is {eq}.",
        "change": "The change is {eq}.",
        "bill": "{name} buys {listed}. Delivery costs {fee} coins. What is the bill?",
        "back": "{name} buys {listed} and pays with {paid} coins. How many coins come back?",
        "unit": " coins",
    },
    "zh": {
        "line": "{many}个{thing}，每个{price}元",
        "cost": "{thing}共 {{eq}} 元。",
        "sum": "合计 {eq} 元。",
        "with fee": "加上运费 {eq} 元。",
        "change": "找回 {eq} 元。",
        "bill": "{name}买了{listed}。运费{fee}元。一共要付多少元？",
        "back": "{name}买了{listed}，付了{paid}元。应找回多少元？",
        "unit": "元",
    },
}


def purchase(draws: Draws) -> Problem:
    """Several goods at several prices, with a fee, or paid with too much."""
    words = _PURCHASE[draws.language]
    slots = Slots(draws, {})
    goods = draws.between(2, 4)
    lines: list[str] = []
    steps: list[Step] = []
    total = 0
    for at in range(goods):
        many, price, thing = draws.between(2, 40), draws.number(2, 180), slots[f"things{at}"]
        total += many * price
        lines.append(words["line"].format(many=many, thing=thing, price=price))
        steps.append(Step(words["cost"].format(thing=thing), "x", many, price))
    for at in range(1, goods):
        steps.append(Step(words["sum"], "+", Ref(0) if at == 1 else Ref(len(steps) - 1), Ref(at)))
    fee = draws.between(3, 90)
    paid = total + draws.between(1, 500)
    english = draws.language == "en"
    slots["listed"] = f"{', '.join(lines[:-1])} and {lines[-1]}" if english else "；".join(lines)
    slots.update(fee=fee, paid=paid)
    if draws.chance(0.5):
        steps.append(Step(words["with fee"], "+", Ref(len(steps) - 1), fee))
        text = words["bill"]
    else:
        steps.append(Step(words["change"], "-", paid, Ref(len(steps) - 1)))
        text = words["back"]
    return Problem(question=text.format_map(slots), steps=tuple(steps), unit=words["unit"])


_TRIP = {
    "en": {
        "leg": "{hours} hours at {speed} km/h",
        "step": "Leg {at} is {{eq}} km long.",
        "sum": "So far that makes {eq} km.",
        "join": ", then ",
        "unit": " km",
        "asks": (
            "{name} drives {legs}. How long is the whole way in km?",
            "From {place} {name} goes {legs}. How far is it in all, in km?",
            "The coach of {place} runs {legs}. What distance in km does it cover?",
        ),
    },
    "zh": {
        "leg": "以每小时{speed}千米行驶{hours}小时",
        "step": "第{at}段长 {{eq}} 千米。",
        "sum": "累计 {eq} 千米。",
        "join": "，再",
        "unit": "千米",
        "asks": ("{name}先{legs}。全程多少千米？", "从{place}出发，{name}{legs}。一共走了多少千米？"),
    },
}


def trip(draws: Draws) -> Problem:
    """Several legs at several speeds; the whole way."""
    words = _TRIP[draws.language]
    said: list[str] = []
    steps: list[Step] = []
    legs = draws.between(2, 4)
    for at in range(1, legs + 1):
        hours, speed = draws.between(2, 9), draws.number(20, 95)
        said.append(str(words["leg"]).format(hours=hours, speed=speed))
        steps.append(Step(str(words["step"]).format(at=at), "x", hours, speed))
    for at in range(1, legs):
        steps.append(Step(str(words["sum"]), "+", Ref(0) if at == 1 else Ref(len(steps) - 1), Ref(at)))
    slots = Slots(draws, {"legs": str(words["join"]).join(said)})
    question = draws.pick(words["asks"]).format_map(slots)
    return Problem(question=question, steps=tuple(steps), unit=str(words["unit"]))


_AVERAGE = {
    "en": (
        "{name} noted {list}. What is the mean?",
        "The readings in {place} were {list}. Find the average.",
        "What is the arithmetic mean of {list}?",
    ),
    "zh": ("{name}记录了{list}，平均数是多少？", "求 {list} 的平均数。"),
}


def average(draws: Draws) -> Problem:
    """The mean of a few numbers; a whole number."""
    english = draws.language == "en"
    many = draws.between(3, 6)
    numbers = [draws.between(5, 95) for _ in range(many - 1)]
    last = draws.between(20, 120)
    numbers.append(last - (sum(numbers) + last) % many)
    so_far = "Sum so far: {eq}." if english else "累加：{eq}。"
    steps = [Step(so_far, "+", numbers[0], numbers[1])]
    for number in numbers[2:]:
        steps.append(Step(so_far, "+", Ref(len(steps) - 1), number))
    divided = f"Divided by the {many} values: {{eq}}." if english else f"除以{many}个数：{{eq}}。"
    steps.append(Step(divided, ":", Ref(len(steps) - 1), many))
    slots = Slots(draws, {"list": ", ".join(map(str, numbers))})
    return Problem(question=draws.pick(_AVERAGE[draws.language]).format_map(slots), steps=tuple(steps))


_FIELD = {
    "en": (
        "A field near {place} is {long} m by {wide} m. A pond takes {pond} square metres of it. Each other square "
        "metre yields {rate} kg. How many kg does {name} harvest?",
        ("The whole field has {eq} square metres.", "Without the pond it is {eq}.", "The yield is {eq} kg."),
        " kg",
    ),
    "zh": (
        "{place}有一块长{long}米、宽{wide}米的地，其中池塘占{pond}平方米，其余每平方米产{rate}千克。"
        "{name}共收多少千克？",
        ("总面积 {eq} 平方米。", "去掉池塘 {eq} 平方米。", "产量 {eq} 千克。"),
        "千克",
    ),
}


def field(draws: Draws) -> Problem:
    """A rectangle's area without a pond, times a yield."""
    text, said, unit = _FIELD[draws.language]
    long, wide, rate = draws.number(20, 120), draws.between(4, 60), draws.between(2, 9)
    pond = draws.between(2, long * wide // 3)
    slots = Slots(draws, {"long": long, "wide": wide, "pond": pond, "rate": rate})
    steps = (
        Step(said[0], "x", long, wide),
        Step(said[1], "-", Ref(0), pond),
        Step(said[2], "x", Ref(1), rate),
    )
    return Problem(question=text.format_map(slots), steps=steps, unit=unit)


STORIES: tuple[Family, ...] = (stock, stock, purchase, trip, average, field)
