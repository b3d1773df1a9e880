"""The stories of the held-out side; see ``train_stories``."""

from __future__ import annotations

from ..draws import Draws, Slots
from .chain import Problem, Ref, Step
from .train_stories import Family

_WORKSHOP = {
    "en": (
        "At {place} {hands} workers each make {daily} {things} a day for {days} days. {bad} are thrown out; the others "
        "are packed {crate} to a crate. How many crates does {name} get?",
        ("A day brings {eq}.", "All days together bring {eq}.", "Good ones: {eq}.", "Crates: {eq}."),
        " crates",
    ),
    "zh": (
        "{place}有{hands}名工人，每人每天做{daily}个{things}，做了{days}天。其中{bad}个报废，"
        "其余每{crate}个装一箱。{name}得到多少箱？",
        ("每天做 {eq} 个。", "总共做 {eq} 个。", "合格的有 {eq} 个。", "装成 {eq} 箱。"),
        "箱",
    ),
}
_AGES = {
    "en": (
        "{name} is {young}. {name2} is {older} years older than {name}. {name3} is {times} times as old as {name2}. "
        "How old will {name3} be in {later} years?",
        ("{name2} is {eq}.", "{name3} is {eq} now.", "In {later} years it will be {eq}."),
        "",
    ),
    "zh": (
        "{name}今年{young}岁，{name2}比{name}大{older}岁，{name3}的年龄是{name2}的{times}倍。"
        "{later}年后{name3}多少岁？",
        ("{name2}今年 {eq} 岁。", "{name3}今年 {eq} 岁。", "{later}年后是 {eq} 岁。"),
        "岁",
    ),
}
_CISTERN = {
    "en": (
        "The cistern of {place} holds {start} litres. Every hour {inflow} litres run in and {outflow} run out. What "
        "does it hold after {hours} hours?",
        ("An hour adds {eq} litres.", "{hours} hours add {eq} litres.", "In the end there are {eq} litres."),
        " litres",
    ),
    "zh": (
        "{place}的水池里有{start}升水，每小时流入{inflow}升，流出{outflow}升。{hours}小时后有多少升？",
        ("每小时净增 {eq} 升。", "{hours}小时净增 {eq} 升。", "最后有 {eq} 升。"),
        "升",
    ),
}
_ROWS = {
    "en": (
        "The hall of {place} has {count} rows. The first row has {first} seats, and each next one has {by} more. How "
        "many seats are there?",
        (
            "Steps up to the last row: {eq}.",
            "They add {eq} seats.",
            "The last row has {eq} seats.",
            "First and last: {eq}.",
            "Times the rows: {eq}.",
            "Half of it: {eq}.",
        ),
        " seats",
    ),
    "zh": (
        "{place}的大厅有{count}排座位，第一排{first}个，以后每排多{by}个。一共有多少个座位？",
        (
            "到最后一排的间隔数 {eq}。",
            "共增加 {eq} 个。",
            "最后一排 {eq} 个。",
            "首末之和 {eq}。",
            "乘以排数 {eq}。",
            "取一半 {eq}。",
        ),
        "个",
    ),
}


def workshop(draws: Draws) -> Problem:
    """Workers who make so many a day, minus rejects, packed into crates."""
    hands, daily, days = draws.between(3, 20), draws.number(20, 60), draws.between(2, 12)
    crate = draws.between(2, 8)
    bad = hands * daily * days % crate + crate * draws.between(0, 5)
    slots = Slots(draws, {"hands": hands, "daily": daily, "days": days, "bad": bad, "crate": crate})
    text, said, unit = _WORKSHOP[draws.language]
    steps = (
        Step(said[0], "x", hands, daily),
        Step(said[1], "x", Ref(0), days),
        Step(said[2], "-", Ref(1), bad),
        Step(said[3], ":", Ref(2), crate),
    )
    return Problem(question=text.format_map(slots), steps=steps, unit=unit)


def ages(draws: Draws) -> Problem:
    """An age from those of others."""
    young, older = draws.between(4, 30), draws.between(2, 25)
    times, later = draws.between(2, 3), draws.between(2, 20)
    slots = Slots(draws, {"young": young, "older": older, "times": times, "later": later})
    text, said, unit = _AGES[draws.language]
    question = text.format_map(slots)
    told = _told(slots, said)
    steps = (
        Step(told[0], "+", young, older),
        Step(told[1], "x", Ref(0), times),
        Step(told[2], "+", Ref(1), later),
    )
    return Problem(question=question, steps=steps, unit=unit)


def cistern(draws: Draws) -> Problem:
    """Inflow and outflow over hours."""
    start, inflow, hours = draws.number(20, 2000), draws.between(30, 400), draws.between(2, 15)
    outflow = draws.between(5, inflow - 1)
    slots = Slots(draws, {"start": start, "inflow": inflow, "hours": hours, "outflow": outflow})
    text, said, unit = _CISTERN[draws.language]
    question = text.format_map(slots)
    told = _told(slots, said)
    steps = (
        Step(told[0], "-", inflow, outflow),
        Step(told[1], "x", Ref(0), hours),
        Step(told[2], "+", start, Ref(1)),
    )
    return Problem(question=question, steps=steps, unit=unit)


def rows(draws: Draws) -> Problem:
    """The sum of an arithmetic sequence by its ends."""
    first, by, count = draws.between(3, 40), 2 * draws.between(1, 9), draws.between(5, 30)
    slots = Slots(draws, {"first": first, "by": by, "count": count})
    text, said, unit = _ROWS[draws.language]
    steps = (
        Step(said[0], "-", count, 1),
        Step(said[1], "x", Ref(0), by),
        Step(said[2], "+", Ref(1), first),
        Step(said[3], "+", Ref(2), first),
        Step(said[4], "x", Ref(3), count),
        Step(said[5], ":", Ref(4), 2),
    )
    return Problem(question=text.format_map(slots), steps=steps, unit=unit)


def _told(slots: Slots, said: tuple[str, ...]) -> list[str]:
    """The sentences of the steps with the names of the question; the place of the computation stays open."""
    slots["eq"] = "{eq}"
    return [one.format_map(slots) for one in said]


STORIES: tuple[Family, ...] = (workshop, ages, cistern, rows)
