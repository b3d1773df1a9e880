"""Calendar dates: month names, ISO, numbers with slashes that cannot be misread; misses by day, month, year."""

from __future__ import annotations

from datetime import date, timedelta

from ..draws import Draws, Texts
from ..numerals import ordinal
from ..tables import split_words
from .case import Case, Written, forms

KIND = "date"

MONTHS = split_words("January February March April May June July August September October November December")
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_ZH_DAYS = "一二三四五六日"

ASKS = {
    "en": Texts(
        train=(
            "On which date did {name} {family} open the workshop in {place}?",
            "When was the bridge at {place} finished?",
            "{count} days before the meeting it was {before}. When is the meeting?",
            "What is the date {count} days after {before}?",
            "When was {name} {family} born?",
            "Give the day on which the treaty of {place} was signed.",
            "A parcel was sent on {before} and took {count} days. When did it come?",
            "On what day did the {family} exhibition close?",
            "The lease ran for {count} days from {before}. When did it end?",
            "When did {name} leave {place}?",
            "What date is stamped on the letter to {name} {family}?",
            "Which day is {count} days later than {before}?",
            "The harvest of {place} began on which date?",
            "Counting {count} days on from {before}, which date is reached?",
            "When does the pass of {name} {family} expire?",
        ),
        held=(
            "Add {count} days to {before}. Which date is it?",
            "State the date on which {place} received its charter.",
            "For which day was the hearing of {name} {family} set?",
            "If {before} is day 0, which date is day {count}?",
        ),
    ),
    "zh": Texts(
        train=(
            "{name}是哪一天出生的？",
            "{before}之后{count}天是哪一天？",
            "{place}的大桥是哪天建成的？",
            "包裹{before}寄出，{count}天后到达，哪天到？",
            "{name}哪天离开{place}？",
            "合同从{before}起共{count}天，哪天到期？",
        ),
        held=("若{before}是第0天，第{count}天是哪一天？", "{place}的集市哪天开始？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    while True:
        value = date(draws.between(1700, 2099), 1, 1) + timedelta(days=draws.between(0, 364))
        if (value.toordinal() % 7 == 3) == (draws.side == "held"):
            break
    count = draws.between(2, 60)
    before = value - timedelta(days=count)
    said = f"{MONTHS[before.month - 1]} {before.day}, {before.year}"
    if draws.language == "zh":
        said = f"{before.year}年{before.month}月{before.day}日"
    question, template = draws.ask(ASKS, count=count, before=said)
    other: list[Written] = []
    for form, wrong in _misses(draws, value):
        ways = _forms(draws, wrong)
        way = ways[draws.between(0, len(ways) - 1)]
        other.append(Written(form, way[1], wrong.isoformat()))
    same = forms(value.isoformat(), *_forms(draws, value))
    return Case(question=question, template=template, same=same, other=tuple(other), references=3)


def _forms(draws: Draws, day: date) -> list[tuple[str, str]]:
    name = MONTHS[day.month - 1]
    if draws.language == "zh":
        said = f"{day.month}月{day.day}日"
        same = [
            ("characters", f"{day.year}年{said}"),
            ("iso", day.isoformat()),
            ("dots", f"{day.year}.{day.month}.{day.day}"),
            ("weekday", f"{day.year}年{said}，星期{_ZH_DAYS[day.weekday()]}"),
            ("号", f"{day.year}年{day.month}月{day.day}号"),
            ("slashes, year first", f"{day.year}/{day.month}/{day.day}"),
        ]
    else:
        same = [
            ("month first", f"{name} {day.day}, {day.year}"),
            ("day first", f"{day.day} {name} {day.year}"),
            ("iso", day.isoformat()),
            ("ordinal", f"{ordinal(day.day)} of {name} {day.year}"),
            ("month first, ordinal", f"{name} {ordinal(day.day)}, {day.year}"),
            ("short month", f"{day.day} {name[:3]} {day.year}"),
            ("weekday", f"{DAYS[day.weekday()]}, {name} {day.day}, {day.year}"),
            ("slashes, year first", f"{day.year}/{day.month:02d}/{day.day:02d}"),
        ]
        if day.day > 12:
            # With a day above 12 both orders can be read in one way only.
            same.append(("slashes, month first", f"{day.month:02d}/{day.day:02d}/{day.year}"))
            same.append(("dots, day first", f"{day.day:02d}.{day.month:02d}.{day.year}"))
    return same


def _misses(draws: Draws, day: date) -> list[tuple[str, date]]:
    month = (day.month + draws.pick((1, 2, 6, 10, 11)) - 1) % 12 + 1
    wrong = [
        ("day", day + timedelta(days=draws.pick((-1, 1)))),
        ("day", day + timedelta(days=draws.pick((-10, -7, 7, 10)))),
        ("month", date(day.year, month, min(day.day, 28))),
        ("year", date(day.year + draws.pick((-10, -1, 1, 10, 100)), day.month, min(day.day, 28))),
    ]
    if day.day <= 12 and day.day != day.month:
        wrong.append(("day and month swapped", date(day.year, day.day, day.month)))
    return wrong
