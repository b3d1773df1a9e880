"""A second reading of every answer, from its text alone, by other means than those that wrote it."""

import re
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from typing import Any

import pytest
import sympy

from assay.synthetic.frames import FRAMES
from assay.synthetic.kinds import KINDS
from assay.synthetic.stream import Plan, stream

SAMPLES = 520
NO_ANSWER = {"hedge", "no answer", "attack"}

_TEENS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: number for number, word in enumerate(_TEENS.split())}
_SMALL |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_LARGE = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
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
    text = text.strip().translate(str.maketrans("０１２３４５６７８９．％", "0123456789.%"))
    for pattern in (r"\*\*(.*)\*\*", r"\\boxed\{(.*)\}", r"\$(?=\D|\d[^$]*\$$)(.*)\$", r"\\text\{(.*)\}"):
        if found := re.fullmatch(pattern, text, re.DOTALL):
            text = found[1]
    return text.replace("\\left", "").replace("\\right", "").replace("\\%", "%").strip()


def number(text: str) -> Fraction:
    """A number in any of its written forms."""
    text = re.sub(r"^(?:[xyt] = |exactly |正好|There are )", "", bare(text)).rstrip(".").strip()
    text = re.sub(r"(?: ?(?:items|pieces|in total|units)|个)$", "", text)
    if re.fullmatch(r"[零一二三四五六七八九十百千万亿负]+", text):
        return Fraction(chinese_number(text))
    if found := re.fullmatch(r"(.+)分之(.+)", text):
        return Fraction(chinese_number(found[2]), chinese_number(found[1]))
    if found := re.fullmatch(r"(\d+)? ?(-?)\\d?frac\{(-?\d+)\}\{(\d+)\}", text):
        value = Fraction(int(found[3]), int(found[4])) * (-1 if found[2] else 1)
        return value + int(found[1] or 0)
    if found := re.fullmatch(r"(\d+) (\d+)/(\d+)", text):
        return int(found[1]) + Fraction(int(found[2]), int(found[3]))
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
    return Fraction(text)


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
        1/60: m/min, metres per minute, 米每分钟
    """.strip().splitlines()
    for size, _, names in [line.strip().partition(": ")]
    for name in names.split(",")
}


def quantity(text: str) -> Fraction:
    found = re.findall(r"([\d.]+) ?([^\d\s.][^\d]*?(?:\^\d)?)(?= |$|(?=\d))", text.strip())
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
    found = re.fullmatch(r"(\d+) ?(?::|：|/|to|比) ?(\d+)", bare(text))
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
    return frozenset(one.strip() for one in re.split(r", | and |、|和|\n", text))


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
    text = bare(text).replace("\\infty", "∞").replace("\\le", "≤").replace("<=", "≤").replace(">=", "≥")
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
_PATTERNS = [
    re.compile(re.escape(frame).replace(r"\{x\}", "(.*)"), re.DOTALL)
    for texts in FRAMES.values()
    for frame in (*texts.train, *texts.held)
]


def inner(text: str) -> str:
    """The answer within its frame: the shortest that any frame leaves."""
    return min((found[1] for pattern in _PATTERNS if (found := pattern.fullmatch(text))), key=len)


def sampled(name: str, samples: int = SAMPLES):
    for side in ("train", "held"):
        plan = Plan(kinds=(KINDS[name],), side=side, shapes=("single", "several"), seed=5)
        yield from stream(plan, 0, samples // 2)


@pytest.mark.parametrize("name", READERS)
def test_labels_agree_with_a_second_reading(name):
    read = READERS[name]
    seen = 0
    for generated in sampled(name):
        item = generated.item
        truth = read(item.reference)
        for candidate, gold, form in zip(item.candidates, item.gold, generated.forms, strict=True):
            if form in NO_ANSWER:
                assert gold == 0
                continue
            answer = inner(candidate.text)
            given = read(answer)
            if name == "money" and given[1] == "cents" and truth[1] in ("USD", "EUR"):
                given = (given[0], truth[1])
            assert (given == truth) == (gold == 1), (item.reference, answer, form)
            seen += 1
    assert seen > 500


def test_numbers_asked_for_are_those_of_the_question():
    for generated in sampled("integer"):
        text = generated.item.question
        first, second = (int(one) for one in re.findall(r"\d+", text)[:2])
        value = int(number(generated.item.reference))
        assert value in (first + second, abs(first - second)), text


def test_dates_and_times_asked_for_follow_from_the_question():
    found = re.compile(r"([A-Z][a-z]+ \d+, \d{4})|(\d{4}年\d+月\d+日)")
    seen = 0
    for generated in sampled("date"):
        text = generated.item.question
        if (start := found.search(text)) and (
            counts := re.findall(r"(\d+)(?: days|天)|is day (?=0)|date is day (\d+)", text)
        ):
            seen += 1
            assert (day(generated.item.reference) - day(start[0])).days == max(
                int(one or two or 0) for one, two in counts
            ), text
    assert seen > 50


def letter(text: str, contents: dict[str, str]) -> str:
    text = bare(bare(text)).removesuffix(".").removeprefix("It is ").removeprefix("Option ")
    text = re.sub(r"^(?:选项|选)", "", text).strip("()")
    if text in contents:
        return contents[text]
    return text.split(".")[0].upper() if len(text.split(".")[0]) == 1 else "?"


def test_choices_name_the_option_of_their_content():
    for generated in sampled("choice"):
        options = dict(re.findall(r"^\(?([A-E])[.):]+ (.+)$", generated.item.question, re.MULTILINE))
        contents = {content: letter for letter, content in options.items()}

        truth = letter(generated.item.reference, contents)
        assert truth in options
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            if form not in NO_ANSWER:
                assert (letter(inner(candidate.text), contents) == truth) == (gold == 1), candidate.text


def test_names_mean_the_person_that_the_question_lists():
    for generated in sampled("name"):
        english = generated.language == "en"
        pattern = r"[A-Z][a-z]+ [A-Z][a-z]+" if english else r"[\u4e00-\u9fff]{3}(?=、)|(?<=、)[\u4e00-\u9fff]{3}"
        listed = re.findall(pattern, generated.item.question.replace("Among ", ""))
        reference = generated.item.reference
        assert reference in listed
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            if form in NO_ANSWER:
                continue
            text = inner(candidate.text).strip("*.").casefold()
            first, last = reference.casefold().split() if english else (reference[1:], reference[0])
            pieces = set(re.findall(r"\w+", text)) - {"mr", "ms", "dr", "prof", "it", "was"}
            if english:
                ours = pieces <= {first, last, first[0]} and bool(pieces & {first, last})
                ours = ours and pieces != {first[0]}
            else:
                ours = re.sub(r"先生|女士|老师|同学|是|。", "", text) in (reference, first, last)
            assert ours == (gold == 1), (reference, candidate.text, form)


YES = re.compile(
    "(yes|y|yep|yeah|indeed|true|correct|certainly|it is true|that is right|that is the case|affirmative|of course|def|"
    "the answer is yes|this holds|absolutely|right|sure|it does|it is the case|most certainly|the statement is true|"
    "quite so|by all means|是|对|正确|没错|确实|当然|真|成立|答案是肯定|的确|说得对|肯定)"
)
NO = re.compile(
    r"(no\b|n$|nope|nah|not|false|incorrect|certainly not|it is false|that is wrong|that is not|negative|of course not|"
    "definitely not|the answer is no|this does not|absolutely not|wrong|it does not|by no|it is not|most certainly not|"
    "the statement is false|in no|否|不|错误|并非|当然不|假|答案是否定|绝非|说得不对)"
)
OPEN = re.compile(
    "perhaps|it cannot|maybe|unclear|it depends|not enough|yes and no|hard|possibly|there is no way|"
    "也|不确定|无法|看|可能|说不准|不好"
)


def polarity(text: str) -> str:
    text = text.strip().casefold()
    if OPEN.match(text):
        return "open"
    return "no" if NO.match(text) else "yes" if YES.match(text) else "?"


def test_yes_and_no_in_all_words():
    for generated in sampled("yesno"):
        truth = polarity(generated.item.reference)
        assert truth in ("yes", "no")
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            if form not in NO_ANSWER:
                found = polarity(inner(candidate.text))
                assert found != "?", candidate.text
                assert (found == truth) == (gold == 1), (generated.item.reference, candidate.text)


def test_every_answer_kind_is_audited():
    audited = {*READERS, "choice", "name", "yesno"}
    assert audited == {kind.name for kind in KINDS.values() if kind.group == "answers"}
