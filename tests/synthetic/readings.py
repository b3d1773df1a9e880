"""Readers of answers as text, by other means than those that wrote them."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

import sympy

from assay.synthetic.draws import Texts
from assay.synthetic.frames import FRAMES
from assay.synthetic.solutions import CLOSINGS, LURES, STEPS, SUMS, TALK

_TEENS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: number for number, word in enumerate(_TEENS.split())}
_SMALL |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_LARGE = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_ZH = {sign: number for number, sign in enumerate("零一二三四五六七八九")}


def english_number(text: str) -> int:
    sign = -1 if text.startswith("minus ") else 1
    total = group = 0
    for word in re.split(r"[\s-]+", text.removeprefix("minus ")):
        if word in _SMALL:
            group += _SMALL[word]
        elif word == "hundred":
            group *= 100
        else:
            total, group = total + group * _LARGE[word], 0
    return sign * (total + group)


def chinese_number(text: str) -> int:
    if text.startswith("负"):
        return -chinese_number(text[1:])
    for sign, size in (("亿", 10**8), ("万", 10**4)):
        if sign in text:
            high, _, low = text.partition(sign)
            return chinese_number(high) * size + (chinese_number(low) if low else 0)
    total = digit = 0
    for sign in text:
        if sign in _ZH:
            digit = _ZH[sign]
        else:
            total, digit = total + (digit or 1) * {"十": 10, "百": 100, "千": 1000}[sign], 0
    return total + digit


def bare(text: str) -> str:
    """Without what dresses a short answer."""
    text = text.strip().translate(str.maketrans("０１２３４５６７８９．％−", "0123456789.%-"))
    for pattern in (r"\*\*(.*)\*\*", r"\\boxed\{(.*)\}", r"\$(?=\D|\d[^$]*\$$)(.*)\$", r"\\text\{(.*)\}"):
        if found := re.fullmatch(pattern, text, re.DOTALL):
            text = found[1]
    return text.replace("\\left", "").replace("\\right", "").replace("\\%", "%").strip()


def number(text: str) -> Fraction:
    """A number in any of its written forms."""
    text = re.sub(r"^(?:[xyt] = |exactly |正好|There are )", "", bare(text)).rstrip(".").strip()
    text = re.sub(r"(?<=\d)(?:个[\u4e00-\u9fff]+| [a-z]+ [a-z]+)$", "", text)
    text = re.sub(r"(?: ?(?:items|pieces|in total|units)|个)$", "", text)
    if re.fullmatch(r"[零一二三四五六七八九十百千万亿负]+", text):
        return Fraction(chinese_number(text))
    text = text.replace("{,}", ",")
    if found := re.fullmatch(r"(.+)又(.+)", text):
        return number(found[1]) + number(found[2])
    found = re.fullmatch(r"(?:(\d+) ?(?:×|·|\\cdot) ?)?(\d+)(?:\^\{?|(?=[²³⁴-⁶]))([\d²³⁴-⁶]+)\}?", text)
    if found:
        return Fraction(int(found[1] or 1) * int(found[2]) ** int(found[3].translate(_RAISED)))
    if found := re.fullmatch(r"(\d+) × (\d+)", text):
        return Fraction(int(found[1]) * int(found[2]))
    if found := re.fullmatch(r"(.+)分之(.+)", text):
        return Fraction(chinese_number(found[2]), chinese_number(found[1]))
    if found := re.fullmatch(r"(-?)(\d*)\\d?frac(?:\{(\d+)\}\{(\d+)\}|(\d)(\d))", text):
        above, below = found[3] or found[5], found[4] or found[6]
        return (int(found[2] or 0) + Fraction(int(above), int(below))) * (-1 if found[1] else 1)
    if found := re.fullmatch(r"(-?)(\d+)(?: and)? (\d+)/(\d+)", text):
        return (int(found[2]) + Fraction(int(found[3]), int(found[4]))) * (-1 if found[1] else 1)
    if found := re.fullmatch(r"(-?[\d.]+)\s*(?:×|\\times)\s*10\^?\{?([-\d⁰¹²³⁴⁵⁶⁷⁸⁹]+)\}?", text):
        power = int(found[2].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
        return Fraction(found[1]) * Fraction(10) ** power
    if found := re.fullmatch(r"(-?[\d.,/]+) ?(thousand|million|billion|trillion|万亿|万|亿)", text):
        size = {**_LARGE, "万": 10**4, "亿": 10**8, "万亿": 10**12}[found[2]]
        return Fraction(found[1].replace(",", "")) * size
    if found := re.fullmatch(r"(.+)%", text):
        return Fraction(found[1]) / 100
    if re.fullmatch(r"[a-z][a-z -]+", text):
        return worded(text)
    return Fraction(text.replace(",", "").replace(" ", ""))


def worded(text: str) -> Fraction:
    """A whole number or a fraction in English words."""
    parts = {"half": 2, "halfs": 2, "quarter": 4, "quarters": 4}
    ordinals = {"third": 3, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11}
    ordinals |= {"twelfth": 12, "fifteenth": 15, "sixteenth": 16, "twentieth": 20, "twenty-fifth": 25, "fortieth": 40}
    parts |= ordinals | {f"{word}s": below for word, below in ordinals.items()}
    head, _, last = text.rpartition(" ")
    return Fraction(english_number(head), parts[last]) if last in parts else Fraction(english_number(text))


def percent(text: str) -> Fraction:
    text = bare(text)
    if found := re.fullmatch(r"(?:百分之)?([\d.]+)\s*(?:%|％|percent|per cent|pct)?", text):
        value = Fraction(found[1])
        return value if found[0] == found[1] else value / 100
    return number(text)


def money(text: str) -> tuple[Fraction, str]:
    text = text.strip().replace("\\", "").replace(",", "")
    codes = {
        "$": "USD",
        "€": "EUR",
        "£": "GBP",
        "¥": "CNY",
        "dollars": "USD",
        "euros": "EUR",
        "pounds": "GBP",
        "元": "CNY",
    }
    codes |= {code: code for code in codes.values()}
    if found := re.fullmatch(r"([$€£¥]) ?([\d.]+)", text):
        return Fraction(found[2]), codes[found[1]]
    if found := re.fullmatch(r"([A-Z]{3}) ([\d.]+)", text):
        return Fraction(found[2]), found[1]
    if found := re.fullmatch(r"(\d+) (dollars|euros|pounds) and (\d+) (?:cents|pence)", text):
        return int(found[1]) + Fraction(int(found[3]), 100), codes[found[2]]
    if found := re.fullmatch(r"(\d+)元(?:(\d)角)?(?:(\d)分)?", text):
        return Fraction(int(found[1]) * 100 + int(found[2] or 0) * 10 + int(found[3] or 0), 100), "CNY"
    found = re.fullmatch(r"(.+?) ?(cents|pence|分|dollars|euros|pounds|元|[A-Z]{3})", text)
    assert found, text
    amount = Fraction(found[1]) if found[1][0].isdigit() else worded(found[1])
    if found[2] in ("cents", "pence", "分"):
        return amount / 100, {"cents": "cents", "pence": "GBP", "分": "CNY"}[found[2]]
    return amount, codes[found[2]]


SIZES = {
    name.strip(): Fraction(size)
    for line in """
        1: s, seconds, 秒, m, metres, 米, g, grams, 克, mL, millilitres, 毫升, m^2, square metres, 平方米, m/s
        1: metres per second, 米每秒
        60: min, minutes, 分钟
        3600: h, hours, 小时
        86400: d, days, 天
        1000: km, kilometres, 千米, kg, kilograms, 千克, L, litres, 升
        1/100: cm, centimetres, 厘米
        1/1000: mm, millimetres, 毫米, mg, milligrams, 毫克
        1/10: dm, decimetres, 分米
        1000000: t, tonnes, 吨, m^3, cubic metres, 立方米, km^2, square kilometres, 平方千米
        10: cL, centilitres, 厘升
        1/10000: cm^2, square centimetres, 平方厘米
        10000: ha, hectares, 公顷
        5/18: km/h, kilometres per hour, 千米每小时
        1: W, watts, 瓦
        1000: kW, kilowatts, 千瓦
        1000000: MW, megawatts, 兆瓦
        1: MB, megabytes
        1000: GB, gigabytes
        1/1000: KB, kilobytes
        1000000: TB, terabytes
        1/60: m/min, metres per minute, 米每分钟
    """.strip().splitlines()
    for size, _, names in [line.strip().partition(": ")]
    for name in names.split(",")
}


def quantity(text: str) -> Fraction:
    found = re.findall(r"([\d.]+) ?([^\d\s.][^\d]*?(?:\^\d)?)(?= |$|(?=\d))", text.strip())
    if fraction := re.fullmatch(r"(\\d?frac(?:\{\d+\}\{\d+\}|\d\d)) (.+)", text.strip()):
        return number(fraction[1]) * SIZES[fraction[2]]
    pieces = re.fullmatch(r"([\d./]+) ?(\D.*)", text.strip())
    assert pieces, text
    if pieces[2] in SIZES:
        return Fraction(pieces[1]) * SIZES[pieces[2]]
    return sum((Fraction(value) * SIZES[unit.strip()] for value, unit in found), Fraction(0))


def day(text: str) -> Any:
    text = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", text.strip()).replace(" of ", " ")
    text = re.sub(r"(?<=日)，星期.$", "", text).replace("号", "日")
    forms = (
        "%B %d, %Y",
        "%d %B %Y",
        "%Y-%m-%d",
        "%d %b %Y",
        "%A, %B %d, %Y",
        "%Y/%m/%d",
        "%m/%d/%Y",
        "%d.%m.%Y",
        "%Y.%m.%d",
        "%Y年%m月%d日",
    )
    for form in forms:
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    raise AssertionError(text)


def clock(text: str) -> tuple[int, int]:
    text = text.strip().replace("：", ":")
    if found := re.fullmatch(r"(\d+)[:h](\d\d)", text):
        return int(found[1]), int(found[2])
    if found := re.fullmatch(r"(\d+):(\d\d) ?([ap])\.?m\.?", text, re.IGNORECASE):
        return int(found[1]) % 12 + 12 * (found[3].lower() == "p"), int(found[2])
    if found := re.fullmatch(r"(\d+)时(\d+)分", text):
        return int(found[1]), int(found[2])
    if found := re.fullmatch(r"(凌晨|上午|下午|晚上)(.+)点(整|(.+)分)", text):
        read = [int(one) if one.isdecimal() else chinese_number(one) for one in (found[2], found[4] or "0")]
        return read[0] % 12 + 12 * (found[1] in ("下午", "晚上")), read[1]
    found = re.fullmatch(r"(.+) in the (morning|afternoon|evening)", text)
    assert found, text
    said, late = found[1], 12 * (found[2] != "morning")
    if clocked := re.fullmatch(r"(quarter|half) (past|to) (\w+)", said):
        hour = english_number(clocked[3])
        if clocked[2] == "to":
            return (hour - 1) % 12 + late, 45
        return hour % 12 + late, 15 if clocked[1] == "quarter" else 30
    hour, _, minute = said.replace(" o'clock", " zero").replace(" oh ", " ").partition(" ")
    return english_number(hour) % 12 + late, english_number(minute)


def ratio(text: str) -> Fraction:
    text = re.sub(r"\\d?frac\{?(\d+?)\}?\{?(\d+)\}?$", r"\1/\2", bare(text))
    found = re.fullmatch(r"(\d+) ?(?::|：|/|to|比) ?(\d+)", text)
    assert found, text
    return Fraction(int(found[1]), int(found[2]))


def ordered(text: str) -> tuple[int, ...]:
    text = bare(text)
    if "=" in text:
        named = dict(re.findall(r"(\w) = (-?\d+)", text))
        return tuple(int(named[name]) for name in sorted(named))
    return tuple(int(one) for one in re.findall(r"-?\d+", text))


def elements(text: str) -> frozenset[str]:
    text = re.sub(r"^- ", "", bare(text), flags=re.MULTILINE).replace("\\", "").strip("{}[]")
    text = re.sub(r"\b[xyt] = ", "", text)
    if found := re.fullmatch(r"(?:±|pm )(\d+)", text):
        return frozenset((found[1], f"-{found[1]}"))
    return frozenset(one.strip() for one in re.split(r", ?|，| or | 或 | and |、|和|\n", text))


def polynomial(text: str) -> Any:
    text = bare(text).replace("^", "**").replace("{", "(").replace("}", ")")
    text = re.sub(r"(?<=[\d)])(?=[a-z(])", "*", text)
    return sympy.expand(sympy.sympify(text))


def surd(text: str) -> Any:
    text = re.sub(r"\\sqrt\{(\d+)\}|√(\d+)", lambda found: f"*sqrt({found[1] or found[2]})", bare(text))
    text = re.sub(r"\\pi|π|pi", "*pi", text.replace("\\cdot", "*")).replace(" ", "")
    text = re.sub(r"\*+", "*", text).lstrip("*").replace("-*", "-")
    return sympy.sympify(text)


def interval(text: str) -> tuple[Any, ...]:
    """Low, high, and whether each of them belongs to it."""
    text = (
        bare(text)
        .replace("\\infty", "∞")
        .replace("\\le", "≤")
        .replace("\\ge", "≥")
        .replace("<=", "≤")
        .replace(">=", "≥")
    )
    if found := re.search(r"([\[(])(-?[\d∞]+), (-?[\d∞]+)([\])])", text):
        low, high = (None if "∞" in one else int(one) for one in (found[2], found[3]))
        return low, high, found[1] == "[", found[4] == "]"
    low = high = None
    has_low = has_high = False
    pieces = [piece.split() for piece in text.split(" and ")]
    if len(pieces[0]) == 5:
        one, first, v, second, two = pieces[0]
        pieces = [[one, first, v], [v, second, two]]
    for left, sign, right in pieces:
        if left.lstrip("-").isdecimal():
            left, right, sign = right, left, {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}[sign]
        if sign in "<≤":
            high, has_high = int(right), sign == "≤"
        else:
            low, has_low = int(right), sign == "≥"
    return low, high, has_low, has_high


READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("integer", "decimal", "fraction", "big"), number),
    "percent": percent,
    "money": money,
    "units": quantity,
    "date": day,
    "clock": clock,
    "ratio": ratio,
    "tuple": ordered,
    "set": elements,
    "algebra": polynomial,
    "surd": surd,
    "interval": interval,
}


_NUMBER = r"\(?[-−]?\d+(?:\.\d+)?(?:/\d+)?\)?"
_LEFT = rf"{_NUMBER} (?:[-−+×·]|\\cdot) {_NUMBER}"
_SLOTS = {"x": ".+?", "y": ".+?", "a": _NUMBER, "b": _NUMBER, "w": _NUMBER, "l": _LEFT}
_SLOTS |= dict.fromkeys("ef", rf"(?:\\\(|\$)?{_LEFT} = {_NUMBER}(?:\\\)|\$)?")


def _pattern(text: str, answer: str = "") -> str:
    """A regular expression of a template; ``answer`` names the slot that is kept."""
    said = re.escape(text)
    for name, slot in _SLOTS.items():
        said = said.replace(rf"\{{{name}\}}", f"({slot})" if name == answer else f"(?:{slot})")
    return said


def _all(*tables: Mapping[str, Texts]) -> list[str]:
    return [text for table in tables for texts in table.values() for text in (*texts.train, *texts.held)]


_LEAD = re.compile(rf"(?:{'|'.join(map(_pattern, _all(STEPS, LURES, TALK)))})(?:(?<=。)|(?=\s))\s*", re.DOTALL)
_ENDS = [re.compile(_pattern(text, "x"), re.DOTALL) for text in _all(FRAMES, CLOSINGS, SUMS)]


def inner(text: str) -> str:
    """The answer within its frame, or behind the working of its solution: the shortest that any of them leaves."""
    # The full stop of a short month ends no sentence.
    text = re.sub(r"\b([A-Z][a-z]{2})\. (?=\d)", "\\1\u2024 ", text)
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    text = text.replace("\u2024", ".")
    return unboxed(min((found[1] for end in _ENDS if (found := end.fullmatch(text))), key=len))


def unboxed(text: str) -> str:
    """An answer in a box as it would be written without one."""
    if text.startswith("**") and text.endswith("**") and len(text) > 4:
        text = text[2:-2]
    found = re.fullmatch(r"\\boxed\{(.*)\}( ?)([^{}]*)", text, re.DOTALL)
    if not found:
        return text
    text = found[1] + found[2] + found[3]
    text = re.sub(r"\\text\{ ?(.*?)\}", lambda one: (" " if one.start() else "") + one[1], text)
    for written, meant in (("\\{", "{"), ("\\}", "}"), ("\\%", "%"), ("\\$", "$"), ("{,}", ","), ("  ", " ")):
        text = text.replace(written, meant)
    return text
