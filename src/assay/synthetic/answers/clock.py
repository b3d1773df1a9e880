"""Times of day: 12 and 24 hours, words, Chinese; misses by twelve hours, by minutes, hands swapped."""

from __future__ import annotations

from ..draws import Draws, Texts
from ..numerals import in_words, zh_words
from .case import Case, Written, forms

KIND = "clock"

ASKS = {
    "en": Texts(
        train=(
            "When does the last ferry leave {place}?",
            "{name} set out at {before} and walked for {count} minutes. When did the walk end?",
            "At what time does the library of {place} close?",
            "What time is it {count} minutes after {before}?",
            "A film of {count} minutes starts at {before}. When is it over?",
            "When did {name} {family} ring the bell?",
            "The train left {place} at {before} and was on its way for {count} minutes. When did it arrive?",
            "At what time did the watch of {name} stop?",
            "When is the tide highest at {place}?",
            "Bread goes in at {before} and bakes {count} minutes. When is it done?",
            "The lesson of {name} began at {before} and lasted {count} minutes. At what time did it end?",
            "For what time is the dinner at {place} booked?",
            "Give the time {count} minutes later than {before}.",
            "At what hour did {name} see the comet?",
            "When does the shift at the {family} works begin?",
        ),
        held=(
            "A bus needs {count} minutes from {before} on. When is it there?",
            "State the time at which the gate of {place} opens.",
            "Starting at {before}, a timer runs {count} minutes. When does it ring?",
            "When was the call of {name} {family} logged?",
        ),
    ),
    "zh": Texts(
        train=(
            "{place}的末班船几点开？",
            "电影{before}开始，片长{count}分钟，几点结束？",
            "{before}之后{count}分钟是几点？",
            "{name}几点敲的钟？",
            "火车{before}从{place}出发，行驶{count}分钟，几点到达？",
            "{place}的图书馆几点关门？",
        ),
        held=("计时器{before}开始，{count}分钟后响，几点响？", "{place}的大门几点开？"),
    ),
}


def case(draws: Draws) -> Case:
    """Draw a question, forms of its answer, and near misses."""
    while True:
        value = draws.between(0, 287) * 5 if draws.chance(0.5) else draws.between(0, 1439)
        if (value % 7 == 3) == (draws.side == "held"):
            break
    count = draws.between(5, 170)
    before = (value - count) % 1440
    said = _half_day(before) if draws.language == "en" else f"{before // 60:02d}:{before % 60:02d}"
    question, template = draws.ask(ASKS, count=count, before=said)
    other: list[Written] = []
    for form, wrong in _misses(draws, value):
        ways = _forms(draws, wrong)
        way = ways[draws.between(0, len(ways) - 1)]
        other.append(Written(form, way[1], normal_time(wrong), *way[2:]))
    same = forms(normal_time(value), *_forms(draws, value))
    return Case(question=question, template=template, same=same, other=tuple(other), references=3)


def normal_time(minutes: int) -> str:
    """Minutes of the day as ``HH:MM`` of 24 hours."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _half_day(minutes: int) -> str:
    hour = minutes // 60
    return f"{(hour - 1) % 12 + 1}:{minutes % 60:02d} {'AM' if hour < 12 else 'PM'}"


def _forms(draws: Draws, minutes: int) -> list[tuple[str, str] | tuple[str, str, str]]:
    hour, minute = divmod(minutes, 60)
    twelve = (hour - 1) % 12 + 1
    half = _half_day(minutes)
    work = f"{half} = {normal_time(minutes)}"
    same: list[tuple[str, str] | tuple[str, str, str]] = [
        ("24 hours", normal_time(minutes)),
        ("12 hours", half, work),
        ("12 hours, dots", half.lower().replace("am", "a.m.").replace("pm", "p.m."), work),
        ("12 hours, close", half.lower().replace(" ", ""), work),
        ("24 hours with h", f"{hour}h{minute:02d}"),
    ]
    if draws.language == "zh":
        part = "凌晨" if hour < 6 else "上午" if hour < 12 else "下午" if hour < 18 else "晚上"
        # Midnight and noon have names of their own, which differ by region.
        if hour not in (0, 12):
            rest = f"{minute}分" if minute else "整"
            said = f"{part}{twelve}点{rest}"
            same[1:] = [
                ("characters", said, f"{said} = {normal_time(minutes)}"),
                ("24 hours, characters", f"{hour}时{minute}分"),
                ("numerals", f"{part}{zh_words(twelve)}点{zh_words(minute) + '分' if minute else '整'}", work),
            ]
        else:
            same[1:] = [("24 hours, characters", f"{hour}时{minute}分"), ("24 hours, colon", f"{hour}：{minute:02d}")]
        return same
    if hour not in (0, 12):
        same.append(("words", _spoken(hour, minute, twelve), work))
    return same


def _spoken(hour: int, minute: int, twelve: int) -> str:
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    following = in_words(twelve % 12 + 1)
    now = in_words(twelve)
    # "quarter to twelve in the morning" is before noon by its part of the day; both names of noon are left out.
    clock = {0: f"{now} o'clock", 15: f"quarter past {now}", 30: f"half past {now}"}.get(minute)
    if clock is None and minute == 45 and hour not in (11, 23, 17):
        clock = f"quarter to {following}"
    if clock is None:
        clock = f"{now} {in_words(minute)}" if minute >= 10 else f"{now} oh {in_words(minute)}"
    return f"{clock} {part}"


def _misses(draws: Draws, minutes: int) -> list[tuple[str, int]]:
    hour, minute = divmod(minutes, 60)
    wrong = [
        ("half of the day", (minutes + 720) % 1440),
        ("hour", (minutes + draws.pick((-60, 60))) % 1440),
        ("minutes", (minutes + draws.pick((-10, -5, 5, 10, 15, 30))) % 1440),
        ("minute", (minutes + draws.pick((-1, 1))) % 1440),
    ]
    if minute < 24:
        wrong.append(("hands swapped", minute * 60 + hour))
    return wrong
