"""Weekdays, months, and days without a year, short and long; misses by one day, another month, swapped numbers."""

from __future__ import annotations

from ..draws import Draws, Texts
from ..numerals import ordinal, zh_words
from .case import Case, Written, forms
from .date import DAYS, MONTHS

KIND = "calendar"

ASKS_WEEKDAY = {
    "en": Texts(
        train=(
            "The market of {place} opened {count} days after a {before}. Which weekday was that?",
            "On which weekday does {name} meet the {family} choir?",
            "A {before} lies {count} days before the fair. On what weekday is the fair?",
            "Name the weekday on which {place} pays its wages.",
            "From a {before}, {name} counts {count} days on. Which weekday comes out?",
        ),
        held=(
            "Which weekday follows a {before} by {count} days?",
            "The {family} shop is shut on one weekday. Which one?",
        ),
    ),
    "zh": Texts(
        train=("{before}之后{count}天是星期几？", "{place}的集市在星期几？", "{name}每周哪一天去{place}？"),
        held=("从{before}往后数{count}天，是星期几？", "{name}的店星期几休息？"),
    ),
}
ASKS_MONTH = {
    "en": Texts(
        train=(
            "In which month does {place} hold its regatta?",
            "{name} left {count} months after {before}. In which month was that?",
            "Which month is printed on the ticket of {name} {family}?",
        ),
        held=("Name the month that comes {count} months later than {before}.", "When, by month, is {place} snowed in?"),
    ),
    "zh": Texts(
        train=("{place}的节日在几月？", "{before}再过{count}个月是几月？"),
        held=("从{before}算起，{count}个月后是几月？",),
    ),
}
ASKS_DAY = {
    "en": Texts(
        train=(
            "On which day of the year is the feast of {place}?",
            "When is the name day of {name}? No year is needed.",
            "Each year {place} lights its fires on the same day. Which?",
            "What day and month does the seal of {family} show?",
            "{name} waits {count} days from {before} of a leap year. Which day comes then?",
        ),
        held=(
            "Give day and month of the yearly race in {place}.",
            "In a leap year the leave of {name} begins on {before} and takes {count} days. When is it over?",
        ),
    ),
    "zh": Texts(
        train=("{place}的节日是每年的哪一天？", "闰年里，{before}再过{count}天是哪一天？", "{name}的生日是几月几日？"),
        held=("每年哪一天{place}举行赛会？", "{name}从闰年的{before}起等了{count}天，等到了哪一天？"),
    ),
}
_ZH_DAYS = "一二三四五六日"
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    return draws.pick((_weekday, _month, _day))(draws)


def _weekday(draws: Draws) -> Case:
    value, count = draws.between(0, 6), draws.between(2, 60)
    ways = _weekday_zh if draws.language == "zh" else _weekday_en
    before = ways((value - count) % 7)[0][1]
    question, template = draws.ask(ASKS_WEEKDAY, count=count, before=before)
    others = draws.some([day for day in range(7) if day != value], 5)
    other = tuple(_written(draws, "other weekday", ways(day), DAYS[day]) for day in others)
    return Case(
        question=question,
        template=f"{template}.weekday",
        same=forms(DAYS[value], *ways(value)),
        other=other,
        references=3,
    )


def _weekday_en(day: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    name = DAYS[day]
    short = name[:3]
    return [
        ("weekday", name),
        ("short", short, f"{short} = {name}"),
        ("on", f"on {name}"),
        ("short with a dot", f"{short}.", f"{short}. = {name}"),
        ("sentence", f"It is a {name}."),
        ("capitals", name.upper()),
        ("small letters", name.lower()),
    ]


def _weekday_zh(day: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    sign = _ZH_DAYS[day]
    texts = [("星期", f"星期{sign}"), ("周", f"周{sign}"), ("礼拜", f"礼拜{sign}"), ("sentence", f"是星期{sign}。")]
    if day == 6:
        texts += [("星期天", "星期天"), ("礼拜天", "礼拜天"), ("周日", "在周日")]
    return [(form, text, f"{text.strip('是在。')} = {DAYS[day]}") for form, text in texts]


def _written(draws: Draws, form: str, ways: list[tuple[str, str] | tuple[str, str, str]], normal: str) -> Written:
    way = draws.pick(ways)
    return Written(form, way[1], normal, *way[2:])


def _month(draws: Draws) -> Case:
    value, count = draws.between(0, 11), draws.between(2, 19)
    ways = _month_zh if draws.language == "zh" else _month_en
    before = ways((value - count) % 12)[0][1]
    question, template = draws.ask(ASKS_MONTH, count=count, before=before)
    others = draws.some([month for month in range(12) if month != value], 5)
    other = tuple(_written(draws, "other month", ways(month), MONTHS[month]) for month in others)
    return Case(
        question=question,
        template=f"{template}.month",
        same=forms(MONTHS[value], *ways(value)),
        other=other,
        references=3,
    )


def _month_en(month: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    name = MONTHS[month]
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("month", name),
        ("in", f"in {name}"),
        ("the month of", f"the month of {name}"),
        ("capitals", name.upper()),
        ("sentence", f"It is {name}."),
    ]
    if len(name) > 4:
        same.append(("short", name[:3], f"{name[:3]} = {name}"))
        same.append(("short with a dot", f"{name[:3]}.", f"{name[:3]}. = {name}"))
    return same


def _month_zh(month: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    texts = [
        ("digits", f"{month + 1}月"),
        ("characters", f"{zh_words(month + 1)}月"),
        ("月份", f"{month + 1}月份"),
        ("sentence", f"是{month + 1}月。"),
    ]
    return [(form, text, f"{text.strip('是。')} = {MONTHS[month]}") for form, text in texts]


def _day(draws: Draws) -> Case:
    while True:
        month, day = draws.between(1, 12), draws.between(1, 31)
        if draws.chance(0.08):
            month, day = 2, 29
        if day <= _LENGTHS[month - 1] and (day < 20 or _held(month, day) == (draws.side == "held")):
            break
    number = sum(_LENGTHS[: month - 1]) + day
    count = draws.between(1, min(40, number - 1)) if number > 1 else 0
    before = _day_ways(draws, *_day_of(number - count))[0][1]
    question, template = draws.ask(ASKS_DAY, count=count, before=before)
    other = [
        _written(draws, form, _day_ways(draws, *wrong), _normal(*wrong))
        for form, wrong in _day_misses(draws, month, day)
    ]
    return Case(
        question=question,
        template=f"{template}.day",
        same=forms(_normal(month, day), *_day_ways(draws, month, day)),
        other=tuple(other),
        references=3,
    )


def _day_of(number: int) -> tuple[int, int]:
    """Month and day of the day with this number of a leap year, from 1 on."""
    for month, length in enumerate(_LENGTHS, 1):
        if number <= length:
            return month, number
        number -= length
    raise AssertionError("a year has 366 days at most")


def _held(month: int, day: int) -> bool:
    return (month * 31 + day) % 7 == 3


def _normal(month: int, day: int) -> str:
    return f"{month:02d}-{day:02d}"


def _day_ways(draws: Draws, month: int, day: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    if draws.language == "zh":
        return [
            ("characters", f"{month}月{day}日"),
            ("号", f"{month}月{day}号"),
            ("numerals", f"{zh_words(month)}月{zh_words(day)}日"),
            ("sentence", f"是{month}月{day}日。"),
        ]
    name = MONTHS[month - 1]
    return [
        ("month first", f"{name} {day}"),
        ("day first", f"{day} {name}"),
        ("short month", f"{day} {name[:3]}"),
        ("short month first", f"{name[:3]}. {day}" if len(name) > 4 else f"{name[:3]} {day}"),
        ("ordinal", f"{ordinal(day)} of {name}"),
        ("month first, ordinal", f"{name} {ordinal(day)}"),
        ("the", f"on the {ordinal(day)} of {name}"),
    ]


def _day_misses(draws: Draws, month: int, day: int) -> list[tuple[str, tuple[int, int]]]:
    length = _LENGTHS[month - 1]
    another = draws.pick([one for one in range(1, 13) if one != month and day <= _LENGTHS[one - 1]])
    wrong = [
        ("day", (month, day + 1 if day < length else day - 1)),
        ("day", (month, day - 1 if day > 1 else 2)),
        ("day", (month, day + 10 if day + 10 <= length else day - 10)),
        ("month", (another, day)),
        ("month", (month % 12 + 1, min(day, 28))),
    ]
    if day <= 12 and day != month:
        wrong.append(("day and month swapped", (day, month)))
    return wrong
