"""Worked problems, solved again from the text of the question, and solutions checked line by line."""

import re
from fractions import Fraction

import pytest
import sympy

from assay.engines.rule.equality import equal
from assay.judges.math_rule import MathJudge
from assay.synthetic.kinds import KINDS
from assay.synthetic.stream import Plan, stream


def problems(name: str, side: str, count: int = 600):
    plan = Plan(kinds=(KINDS[name],), side=side, seed=11)
    return stream(plan, 0, count)


def value(text: str) -> Fraction:
    return Fraction(text)


@pytest.mark.parametrize("side", ["train", "held"])
def test_equations_have_the_root_that_sympy_finds(side):
    for generated in problems("equation", side):
        text = generated.item.question
        found = re.search(r"(\d*\(?[a-z][/\d]*(?: [-+] \d+\)?)?(?: [-+] \d+)?) = ((?:\d+[a-z] \+ )?-?\d+)", text)
        assert found, text
        left, right = (re.sub(r"(\d)(?=[a-z(])", r"\1*", part) for part in found.groups())
        v = sympy.Symbol(re.search(r"[a-z]", left)[0])
        (root,) = sympy.solve(sympy.sympify(left) - sympy.sympify(right), v)
        assert Fraction(int(root.p), int(root.q)) == value(generated.item.reference), text


def stock(text: str, english: bool) -> int:
    """The events of a story, read one after the other."""
    if english:
        have, *events = re.split(r"(?<=\.) ", text)[:-1]
    else:
        have, *events = re.findall(r"[^。]+", text)[:-1]
    total = int(re.search(r"\d+", have)[0])
    for event in events:
        number = int((re.search(r"\d+", event) or [0])[0])
        if re.search(r"times|倍", event):
            total *= number
        elif re.search(r"Half|second one|一半", event):
            total //= 2
        elif re.search(r"more|added|another|运来|增加", event):
            total += number
        else:
            total -= number
    return total


def solved(family: str, text: str, english: bool) -> Fraction:
    n = [int(one) for one in re.findall(r"\d+", text)]
    if family == "stock":
        return Fraction(stock(text, english))
    if family == "purchase":
        goods = 2 * ((len(n)) // 2) if len(n) % 2 else len(n)
        total = sum(n[at] * n[at + 1] for at in range(0, goods - (len(n) % 2 == 0), 2))
        return Fraction(total + n[-1] if re.search("bill|一共", text) else n[-1] - total)
    if family == "trip":
        return Fraction(sum(n[at] * n[at + 1] for at in range(0, len(n), 2)))
    if family == "average":
        return Fraction(sum(n), len(n))
    if family == "field":
        return Fraction((n[0] * n[1] - n[2]) * n[3])
    if family == "workshop":
        return Fraction(n[0] * n[1] * n[2] - n[3], n[4])
    if family == "ages":
        return Fraction((n[0] + n[1]) * n[2] + n[3])
    if family == "cistern":
        return Fraction(n[0] + (n[1] - n[2]) * n[3])
    count, first, by = n[:3]
    return Fraction(sum(first + by * at for at in range(count)))


@pytest.mark.parametrize("side", ["train", "held"])
def test_stories_come_to_what_their_question_says(side):
    for generated in problems("word-problem", side):
        family = generated.template.rsplit(".", 1)[-1]
        truth = solved(family, generated.item.question, generated.language == "en")
        assert truth == value(generated.item.reference), generated.item.question


@pytest.mark.parametrize("name", ["equation", "word-problem"])
def test_gold_is_whether_the_last_number_is_right_and_right_solutions_compute_rightly(name):
    errors = set()
    for generated in problems(name, "train", 900):
        truth = value(generated.item.reference)
        for candidate, gold, form in zip(generated.item.candidates, generated.gold, generated.forms, strict=True):
            last = re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", candidate.text)[-1]
            assert (Fraction(last) == truth) == (gold == 1), candidate.text
            errors.add(form)
            for left, sign, right, result in re.findall(
                r"(-?[\d./]+) ([-+x:]) \(?(-?[\d./]+?)\)? = (-?\d[\d./]*)", candidate.text
            ):
                a, b, c = (Fraction(one.rstrip(".")) for one in (left, right, result))
                computed = {"+": a + b, "-": a - b, "x": a * b, ":": a / b if b else None}[sign]
                if form not in ("slip",):
                    assert computed == c, candidate.text
            if form == "slip":
                assert gold == 0
    assert errors == {"right", "slip", "operation", "operand", "final", "unfinished"}


def test_the_math_rule_agrees():
    """Where it reads the answer at all: the judge that no model has a part in."""
    judge = MathJudge()
    seen = agreed = 0
    for generated in stream(Plan(kinds=(KINDS["word-problem"], KINDS["equation"]), shapes=("single",), seed=3), 0, 500):
        content = judge.content(generated.item)
        seen += 1
        agreed += equal(str(content["reference"]), str(content["answer"])) == (generated.gold[0] == 1)
    # It takes the tail of a text that does not mark its answer, and words around the number for words.
    assert agreed / seen > 0.9
