"""Numbers as they are written: words in English and Chinese, grouped digits, exact decimals, powers of ten."""

from __future__ import annotations

from fractions import Fraction

from .tables import split_words

_ONES = split_words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS = split_words("_ _ twenty thirty forty fifty sixty seventy eighty ninety")
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_ZH_DIGITS = "零一二三四五六七八九"
_ZH_PLACES = ("", "十", "百", "千")
SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
FULL_WIDTH = str.maketrans("0123456789.%", "０１２３４５６７８９．％")


def in_words(number: int) -> str:
    """``123`` as "one hundred twenty-three"; below 10^12."""
    if number < 0:
        return f"minus {in_words(-number)}"
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    scale, name = next(pair for pair in _SCALES if number >= pair[0])
    many, rest = divmod(number, scale)
    return f"{in_words(many)} {name}" + (f" {in_words(rest)}" if rest else "")


def ordinal_words(number: int) -> str:
    """``23`` as "twenty-third"; below 100."""
    head, dash, last = in_words(number).rpartition("-")
    last = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return head + dash + last


def ordinal(number: int) -> str:
    """``23`` as "23rd"."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }".replace(" ", "")


def zh_words(number: int) -> str:
    """``10203`` as 一万零二百零三; below 10^12."""
    if number < 0:
        return f"负{zh_words(-number)}"
    if number == 0:
        return "零"
    groups: list[int] = []
    while number:
        number, low = divmod(number, 10000)
        groups.append(low)
    said = ""
    for place in range(len(groups) - 1, -1, -1):
        group = groups[place]
        if group == 0:
            said += "" if said.endswith("零") else "零"
            continue
        zero = "零" if said and not said.endswith("零") and group < 1000 else ""
        said += zero + _zh_group(group) + ("", "万", "亿")[place]
    said = said.rstrip("零")
    return said[1:] if said.startswith("一十") else said


def _zh_group(group: int) -> str:
    said = ""
    for place in range(3, -1, -1):
        digit = group // 10**place % 10
        if digit:
            said += _ZH_DIGITS[digit] + _ZH_PLACES[place]
        elif said and not said.endswith("零") and group % 10**place:
            said += "零"
    return said


def grouped(number: int) -> str:
    """``12345`` as 12,345."""
    return f"{number:,}"


def decimal(value: Fraction) -> str | None:
    """The exact decimal; None where it does not end."""
    below = value.denominator
    places = 0
    while below % 10 == 0:
        below //= 10
        places += 1
    for prime in (2, 5):
        count = 0
        while below % prime == 0:
            below //= prime
            count += 1
        places += count
    if below != 1:
        return None
    scaled = abs(value) * 10**places
    digits = str(scaled.numerator).rjust(places + 1, "0")
    text = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


def plain(value: Fraction) -> str:
    """The normal form of a number: a whole number, an exact decimal of at most 6 places, else a fraction."""
    said = decimal(value)
    if said is not None and len(said.partition(".")[2]) <= 6:
        return said
    return f"{value.numerator}/{value.denominator}"
