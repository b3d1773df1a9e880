import json
import random
from pathlib import Path

import pytest

from assay.engines.rule import equality
from assay.engines.rule.form import read_form
from assay.engines.rule.rules import RULES

EQUAL = [
    ("x^2+1", "1+x^2"),
    ("(x+1)^2", "$x^2+2x+1$"),
    ("1/3", "0.333333"),
    ("1 1/2", "3/2"),
    (r"0.\overline{3}", "1/3"),
    ("√2", r"\sqrt{2}"),
    ("sqrt(2)", r"\sqrt2"),
    ("2*pi", r"2\pi"),
    ("1024", "2**10"),
    ("1e3", "1000"),
    ("{1,2,3}", "3, 2, 1"),
    ("x=5", "5"),
    ("10%", "0.1"),
    ("10 percent", "10%"),
    ("0.1", "10 percent"),
    ("18", "The answer is 18."),
    ("18", "she makes 18 dollars in all"),
    ("18 dollars", "$18"),
    ("5 km", "5 kilometers"),
    ("3小时", "3 hours"),
    ("18元", "18"),
    ("3:15 pm", "3:15 PM"),
    ("Paris", "paris."),
    ("B", "(B)"),
    ("-5", "−5"),
    ("½", "0.5"),
    ("sin(x)", r"\sin x"),
    ("5.0", "5"),
    ("007", "+7"),
    ("0", "-0"),
]
DIFFERENT = [
    ("x^2+1", "1"),
    ("(1,2)", "(2,1)"),
    ("x=5", "y=5"),
    ("1/3", "0.3"),
    (r"0.\overline{3}", "0"),
    ("2024-03-01", "2020"),
    ("2020", "2024-03-01"),
    ("3:15 pm", "3"),
    ("1011_2", "1011"),
    ("5 km", "5 m"),
    ("€18", "18 dollars"),
    ("15 cm^2", "15 cm"),
    ("blue", "lube"),
    ("no", "on"),
    ("18", "about 17 or 18 to 20 people"),
    ("3 hours 20 minutes", "20"),
    ("5", ""),
    ("5", "1/0"),
    ("1/0", "5"),
    ("5", r"\frac{1}{2"),
    ("A", "B"),
    ("7", "-7"),
    ("70", "7"),
    ("7" * 5000, "7" * 4999 + "8"),
]


@pytest.mark.parametrize(("reference", "answer"), EQUAL)
def test_equal(reference: str, answer: str) -> None:
    equality.warm()
    assert equality.equal(reference, answer)


@pytest.mark.parametrize(("reference", "answer"), DIFFERENT)
def test_not_equal(reference: str, answer: str) -> None:
    equality.warm()
    assert not equality.equal(reference, answer)


def test_an_expression_that_cannot_be_read_is_compared_as_text() -> None:
    assert equality.equal(r"\foo{", r"$\foo{$")
    assert not equality.equal(r"\foo{", r"\bar{")


@pytest.mark.parametrize(("reference", "answer"), EQUAL + DIFFERENT)
def test_the_shortcut_never_contradicts_the_rule(reference: str, answer: str) -> None:
    arguments = {"reference": reference, "answer": answer}
    assert RULES["math"].shortcut(arguments) in (None, RULES["math"].answer(arguments))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"answer": "1"}, "reference"),
        ({"reference": " ", "answer": "1"}, "reference"),
        ({"reference": "1"}, "answer"),
        ({"reference": "1", "answer": 1}, "answer"),
        ({"reference": "1", "answer": "1", "tolerance": 0.1}, "tolerance"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        RULES["math"].check(arguments)  # pyright: ignore[reportArgumentType]


def test_the_answers_of_math500_equal_themselves_and_not_each_other() -> None:
    data = Path(__file__).parents[4] / "shared/data/math500/test.jsonl"
    if not data.exists():
        pytest.skip(f"{data.name} of MATH-500 is not beside the repository")
    answers = [json.loads(line)["answer"] for line in data.read_text().splitlines()]
    equality.warm()
    pick = random.Random(0)
    for answer in pick.sample(answers, 50):
        assert equality.equal(answer, f"So the answer is {answer}") or read_form(answer).sort == "prose"
        assert equality.equal(answer, rf"$\boxed{{{answer}}}$.")
    pairs = [(pick.choice(answers), pick.choice(answers)) for _ in range(100)]
    equal = [(read_form(a).math, read_form(b).math) for a, b in pairs if a != b and equality.equal(a, b)]
    # A unit, or the name of the unknown, may be left out.
    assert [(a, b) for a, b in equal if a.removeprefix("x=") != b.removeprefix("x=")] == []
