import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judges.extract import TAIL, final_answer, math_answer

SOLUTIONS = Path(__file__).parents[2] / "../shared/data/gsm8k/example_model_solutions.jsonl"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("so it is 7.\nAnswer: 42 ", "42"),
        ("Answer: 1. No. Answer: 2", "2"),
        ("Answer:\n\\boxed{42}\nDone", "\\boxed{42}\nDone"),
        ("Answer:", ""),
        ("answer: 42", "answer: 42"),
        ("", ""),
        ("x" * 400, "x" * 300),
    ],
)
def test_final_answer(text, answer):
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"first \boxed{3}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{3} and cut off in \boxed{4", "3"),
        (r"Answer: 5, that is \boxed{6}", "6"),
        (r"\fbox{204} minutes", "204"),
        ("16 - 3 = 13\nA: 13", "13"),
        ("Janet sells 9.\n#### 18", "18"),
        ("The answer is 3.5. Let me check it.", "3.5"),
        ("The final answer is: $\\frac{1}{2}$.", "$\\frac{1}{2}$"),
        ("**Answer:** 42", "42"),
        ("**Answer**: 42", "42"),
        ("Final Answer:\n\n42\n", "42"),
        ("A: red\nB: blue\nAnswer: B", "B"),
        ("答案：42。", "42"),
        ("所以答案是 3.5。检验略", "3.5"),
        ("答案应为：12", "12"),
        ("42", "42"),
        ("Answer: ", ""),
        ("", ""),
    ],
)
def test_math_answer(text, answer):
    assert math_answer(text) == answer


def test_a_text_that_does_not_say_is_taken_from_its_end():
    assert math_answer("9" * 1000) == "9" * TAIL


@given(st.text())
def test_any_text_has_a_part_that_is_taken(text):
    assert math_answer(text) in text
    assert final_answer(text) in text


@pytest.mark.parametrize("unit", ["\\boxed{", "\\boxed{}", "{", "A:\n", "answer is ", "#", "答案", " ", "\\", "."])
def test_a_megabyte_is_searched_in_linear_time(unit):
    math_answer(unit * (1_000_000 // len(unit)))


@pytest.mark.skipif(not SOLUTIONS.exists(), reason="needs gsm8k/example_model_solutions.jsonl of the shared data")
def test_solutions_of_gsm8k_are_judged_as_labelled():
    from math_verify import parse, verify

    def equal(reference: str, answer: str) -> bool:
        left, right = (text.replace("$", "").replace(",", "").replace(" ", "") for text in (reference, answer))
        if left == right:
            return True
        parsed = (parse(text, parsing_timeout=None) for text in (reference, answer))
        return verify(*parsed, timeout_seconds=None)

    agree = total = 0
    for line in SOLUTIONS.read_text("utf-8").splitlines():
        row = json.loads(line)
        reference = math_answer(row.pop("ground_truth"))
        row.pop("question")
        for model in row.values():
            agree += equal(reference, math_answer(model["solution"])) == model["is_correct"]
            total += 1
    assert total == 4 * 1319
    assert agree / total >= 0.99
