"""A second reading of weekdays, months, days of the year, numbers of an asked unit, and short facts."""

import re
from datetime import date, timedelta
from fractions import Fraction

import pytest

from assay.synthetic.kinds import KINDS
from assay.synthetic.stream import Plan, stream

from .readings import SIZES, bare, chinese_number, inner, number

NO_ANSWER = {"hedge", "no answer", "attack"}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def answers(name, samples=1000):
    """Item, answer within its frame, gold."""
    for side in ("train", "held"):
        for generated in stream(
            Plan(kinds=(KINDS[name],), side=side, shapes=("single", "several"), seed=8), 0, samples
        ):
            for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
                if form not in NO_ANSWER:
                    yield generated, inner(candidate.text), gold


def asked(text, unit, units):
    """A number in the unit that was asked for."""
    text = bare(text)
    found = re.fullmatch(
        r"(.+?) ?((?:thousand|million|万|亿)?) ?([a-zA-Z\u4e00-\u9fff][a-zA-Z /^23\u4e00-\u9fff]*)", text
    )
    if found and found[3] in units:
        return number(f"{found[1]} {found[2]}".strip()) * units[found[3]] / units[unit]
    return number(text)


def test_a_bare_number_has_the_unit_of_the_question():
    units = {**SIZES}
    seen = 0
    for generated, text, gold in answers("unit-asked"):
        question = generated.item.question.replace(" (1 GB = 1000 MB)", "")
        (unit,) = {one for one in (generated.item.reference, *generated.normal) if " " in one and "=" not in one} and {
            generated.normal[0].rsplit(" ", 1)[1]
        }
        assert any(units[name] == units[unit] and name in question for name in units), question
        truth = asked(generated.item.reference, unit, units)
        assert (asked(text, unit, units) == truth) == (gold == 1), (question, generated.item.reference, text)
        seen += 1
    assert seen > 3000


def test_the_number_asked_for_is_that_of_the_amount():
    """Where the question names an amount, the reference is that amount in the other unit."""
    seen = 0
    for generated, _, _ in answers("unit-asked", 300):
        found = re.match(
            r"State ([\d.]+) (.+) as a number of (.+?)\.|请用(.+?)写出([\d.]+)(.+?)。", generated.item.question
        )
        if found:
            amount, start, unit = (found[1], found[2], found[3]) if found[1] else (found[5], found[6], found[4])
            seen += 1
            truth = Fraction(amount) * SIZES[start] / SIZES[unit]
            assert asked(generated.item.reference, unit, SIZES) == truth, generated.item.question
    assert seen > 50


def moment(text):
    """Weekday as 0 to 6, month as 1 to 12, day of a year as a pair."""
    text = text.strip().strip("是在。").casefold()
    if found := re.fullmatch(r"(?:星期|周|礼拜)(.)", text):
        return "weekday", "一二三四五六日天".index(found[1]) % 7 if found[1] != "天" else 6
    if found := re.fullmatch(r"(.+)月份?(?:(.+)[日号])?", text):
        month, day = (
            None if one is None else int(one) if one.isdecimal() else chinese_number(one) for one in found.groups()
        )
        return ("month", month) if day is None else ("day", month, day)
    words = re.sub(r"\b(?:on|in|the|of|month|it|is|a)\b|[.]", " ", text)
    words = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", words).split()
    digits = [int(word) for word in words if word.isdecimal()]
    (name,) = (word[:3] for word in words if not word.isdecimal())
    if name in WEEKDAYS:
        return "weekday", WEEKDAYS.index(name)
    month = MONTHS.index(name) + 1
    return ("day", month, *digits) if digits else ("month", month)


def test_weekdays_months_and_days_are_read_alike():
    seen, counted = set(), 0
    for generated, text, gold in answers("calendar"):
        truth = moment(generated.item.reference)
        assert (moment(text) == truth) == (gold == 1), (generated.item.reference, text)
        seen.add(truth)
        question = generated.item.question
        found = re.search(r"([A-Z][a-z]+ \d+)(?= of a leap| and takes)|(\d+月\d+日)(?=再过|起)", question)
        if found and (counts := re.findall(r"(\d+)(?= days| ?天)", question)):
            _, month, day = moment(found[0])
            later = date(2024, month, day) + timedelta(days=int(counts[0]))
            assert truth == ("day", later.month, later.day), question
            counted += 1
        if found := re.search(r"(\d+) days (?:after a|before|on)|by (\d+) days|(?:后|后数)(\d+)天", question):
            count = int(next(filter(None, found.groups())))
            (start,) = re.findall(r"Mon|Tue|Wed|Thu|Fri|Sat|Sun|星期.(?=之|往)", question)
            assert truth == ("weekday", (moment(start)[1] + count) % 7), question
    assert len({one for one in seen if one[0] == "weekday"}) == 7
    assert len({one for one in seen if one[0] == "month"}) == 12
    assert ("day", 2, 29) in seen
    assert counted > 100


def plain(text):
    text = bare(text).replace("**", "").strip("“”.。$")
    text = re.sub(r"^(?:It is|It was|That was|code|编号|是|Mr|the river|the town of) ?", "", text).removesuffix("先生")
    return text.translate(str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789", "_"))


@pytest.mark.parametrize("sort", ["person", "role", "sign", "alias", "compound"])
def test_facts_mean_what_the_reference_means(sort):
    seen = 0
    for generated, text, gold in answers("fact"):
        if not generated.template.endswith(sort):
            continue
        seen += 1
        truth, said = plain(generated.item.reference), plain(re.sub(r"\\mathrm\{(.*)\}", r"\1", text))
        if sort == "person" and generated.language == "en":
            first, last = truth.casefold().split()
            words = re.findall(r"\w+", said.casefold())
            right = words in ([first, last], [last, first], [last])
        elif sort == "role":
            names = re.findall(
                r"[A-Z][a-z]+|[A-Z]{3,}|[\u4e00-\u9fff]+",
                re.sub(r"^The .* of \w+ is |^.*的.*是(?=.+$)|是.*的.*$", "", said),
            )
            right = bool(names) and names[0].casefold() == truth.casefold()
        elif sort == "compound":
            listed = dict(re.findall(r"([a-z]+|[\u4e00-\u9fff]+) ?[(（](\w+)[)）]", generated.item.question))
            said = plain(re.sub(r"\\mathrm\{(.*)\}", r"\1", bare(text)))
            # The first name of a list in Chinese follows on other characters.
            (formula,) = (formula for name, formula in listed.items() if name.endswith(truth))
            right = said in (truth, formula) or re.split("[(（]", said)[0].strip() == truth
        elif sort == "alias":
            names = dict(re.findall(r"([A-Z]\w+) \(also called (\w+)\)|$", generated.item.question))
            names |= dict(
                re.findall(
                    r"([\u4e00-\u9fff]+)（又名(.+?)）",
                    generated.item.question.replace("附近有", "、").replace("地图上有", "、").replace("已知", "、"),
                )
            )
            right = any(said.startswith(one) for one in (truth, names[truth]))
        else:
            right = said == truth
        assert right == (gold == 1), (generated.item.question, generated.item.reference, text)
    assert seen > 500
