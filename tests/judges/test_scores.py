import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Failure, FailureKind, Outcome, Verdict
from assay.judges.scores import parse_label, parse_number, parse_scores

GOLDEN = [json.loads(line) for line in (Path(__file__).parent / "golden/parser_cases.jsonl").read_text().splitlines()]


def got(outcome: Outcome) -> list[float] | None:
    return list(outcome.scores) if isinstance(outcome, Verdict) and outcome.scores is not None else None


@pytest.mark.parametrize("reading", ["strict", "lenient"])
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['id']}-{case['why'][:30]}")
def test_golden_cases(case, reading):
    outcome = parse_scores(case["text"], case["n"], mode=case["mode"], lenient=reading == "lenient")
    assert got(outcome) == case[reading]
    assert outcome.text == case["text"]


NO = None
MORE = [
    # text, n, strict, lenient
    (r"Scores: \boxed{7}", 1, [7], [7]),
    (r"\boxed{7, 5, 9, 1, 10}", 5, [7, 5, 9, 1, 10], [7, 5, 9, 1, 10]),
    (r"Scores: \\boxed{7, 5}", 2, [7, 5], [7, 5]),
    (r"<think>\boxed{1, 1}</think>Scores: \boxed{7, 5}", 2, [7, 5], [7, 5]),
    (r"I lean to \boxed{1, 1}</think>Scores: \boxed{7, 5}", 2, [7, 5], [7, 5]),
    (r"<think>\boxed{1, 1}</think>Scores: 7, 5", 2, NO, NO),
    (r"\boxed{7, 5} as [1], [2] show, and arr[1] = 3", 2, [7, 5], [7, 5]),
    (r"Scores: 7, 5", 2, NO, NO),
    (r"Scores: [7, 5]", 2, NO, NO),
    (r"\boxed{[7, 5]}", 2, NO, [7, 5]),
    (r"\boxed{(7, 5)}", 2, NO, [7, 5]),
    (r"\boxed{{7}, {5}}", 2, NO, [7, 5]),
    (r"\boxed{7, N/A}", 2, NO, NO),
    (r"\boxed{7, }", 2, NO, NO),
    (r"\boxed{7, 5,}", 2, NO, NO),
    (r"\boxed{7 5}", 2, NO, NO),
    (r"\boxed{7, 5, 3}", 2, NO, NO),
    (r"\boxed{}", 1, NO, NO),
    (r"\boxed{ 7 ,5 }", 2, [7, 5], [7, 5]),
    ("\\boxed{7,\n5}", 2, [7, 5], [7, 5]),
    (r"\boxed{7, 5}. The best one is \boxed{1}", 2, NO, NO),
    (r"Response 1: \boxed{7}. Response 2: \boxed{5}.", 2, NO, NO),
    (r"\boxed{5, 5}, no: \boxed{5, 8", 2, NO, NO),
    (r"\boxed{inf, 5}", 2, NO, NO),
    (r"\boxed{1e1, 5}", 2, NO, NO),
    (r"\boxed{0x7, 5}", 2, NO, NO),
    (r"\boxed{7., 5}", 2, NO, NO),
    (r"\boxed{7², 5}", 2, NO, NO),
    (r"\boxed{1*0, 5}", 2, NO, NO),
    (r"\boxed{8.0, 5}", 2, [8, 5], [8, 5]),
    (r"\boxed{11, -3}", 2, [10, 1], [10, 1]),
    (r"\boxed{15, -4}", 2, [10, 1], [10, 1]),
    (r"\boxed{16, 5}", 2, NO, NO),
    (r"\boxed{-5, 5}", 2, NO, NO),
    (r"\boxed{85, 60}", 2, NO, NO),
    (r"\boxed{100}", 1, NO, NO),
    (r"\boxed{7/10, 5/10}", 2, NO, NO),
    (r"\boxed{80%, 60%}", 2, NO, NO),
    (r"\boxed{8, 60}", 2, NO, NO),
    (r"分数：\boxed{8, 6}", 2, [8, 6], [8, 6]),
    (r"分数：\boxed{8、6}", 2, NO, [8, 6]),
    (r"分数：\boxed{8分，6分}", 2, NO, [8, 6]),
    (r"分数：\boxed{回答1：8，回答2：6}", 2, NO, [8, 6]),
    (r"\boxed{A: 7, B: 5}", 2, NO, [7, 5]),
    (r"\boxed{Response 2: 7, Response 1: 5}", 2, NO, NO),
    (r"\boxed{Helpfulness: 7, Accuracy: 5}", 2, NO, NO),
    (r"\boxed{Score: 7}", 1, NO, [7]),
    (r"\boxed {7, 5}", 2, NO, [7, 5]),
    (r"boxed{7, 5}", 2, NO, [7, 5]),
    (r"unboxed{7, 5}", 2, NO, NO),
    (r"\framebox{7, 5}", 2, NO, [7, 5]),
    (r"＼ｂｏｘｅｄ｛７，５｝", 2, NO, [7, 5]),
    (r"\boxed{$7$, $5$}", 2, NO, [7, 5]),
    (r"\boxed{7,\ 5}", 2, NO, [7, 5]),
    (r"\boxed{\textbf{7}, \mathbf{5}}", 2, NO, [7, 5]),
    (r"**Scores:** **\boxed{7, 5}**", 2, [7, 5], [7, 5]),
    (r"$$\boxed{7, 5}$$", 2, [7, 5], [7, 5]),
    (r"I put them in \boxed{} as told: \boxed{7, 5}", 2, [7, 5], [7, 5]),
    (r"The set {1, 2} is named. \boxed{7, 5} And {3}.", 2, [7, 5], [7, 5]),
]


@pytest.mark.parametrize(("text", "n", "strict", "lenient"), MORE)
def test_notation_is_forgiven_only_when_asked_and_content_never(text, n, strict, lenient):
    assert got(parse_scores(text, n)) == strict
    assert got(parse_scores(text, n, lenient=True)) == lenient


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", [0]), ("1", [1]), ("1.0", [1]), ("-0", [0]), ("0.5", NO), ("2", NO), ("-1", NO), ("7", NO), ("yes", NO)],
)
def test_zero_one_mode_takes_nothing_else(text, expected):
    assert got(parse_scores(rf"Scores: \boxed{{{text}}}", 1, mode="0-1", lenient=True)) == expected


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (r"\boxed{7, 5}", ()),
        (r"\boxed{11, 5}", ("clipped",)),
        (r"\boxed{8.5, 0.5}", ("non_integer", "clipped")),
        (r"\boxed{5, 5} \boxed{7, 5}", ("multiple_boxes",)),
        (r"\boxed{1, 1}</think> \boxed{7, 5}", ()),
        (r"\boxed{7; 5}", ("lenient",)),
    ],
)
def test_flags_tell_what_a_careful_reader_should_know(text, flags):
    outcome = parse_scores(text, 2, lenient=True)
    assert isinstance(outcome, Verdict)
    assert set(outcome.flags) == set(flags)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("", FailureKind.PARSE_ERROR, "empty"),
        ("<think>\n\n</think>\n\n", FailureKind.PARSE_ERROR, "empty"),
        ("<think>hm", FailureKind.TRUNCATED, "thinking block never ends"),
        (r"\boxed{7, 5", FailureKind.TRUNCATED, "never closed"),
        ("I'm sorry, but I can't help with that.", FailureKind.REFUSED, "refused"),
        (r"\boxed{7, 5, 3}", FailureKind.PARSE_ERROR, "3 parts for 2 candidates"),
        (r"\boxed{85, 5}", FailureKind.PARSE_ERROR, "'85' in the last box is not on the scale 1 to 10"),
        (r"\boxed{x, x}", FailureKind.PARSE_ERROR, "'x' in the last box is not a number"),
        (r"\boxed{8; 6}", FailureKind.PARSE_ERROR, "lenient reading would take 8, 6"),
    ],
)
def test_a_failure_says_what_is_wrong(text, kind, words):
    outcome = parse_scores(text, 2)
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind
    assert words in outcome.detail


def test_a_refusal_with_a_verdict_is_a_verdict():
    assert got(parse_scores("I'm sorry, but I can't rate style. \\boxed{7, 5}", 2)) == [7, 5]


def test_scores_of_no_candidates_cannot_be_asked_for():
    with pytest.raises(InputError, match="0 candidates"):
        parse_scores(r"\boxed{}", 0)


LABELS = {"1": 1.0, "0": 0.0}


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("1", [1], [1]),
        (" 0\n", [0], [0]),
        ("<think>it is 0</think>\n\n1", [1], [1]),
        ("it is 0</think>1", [1], [1]),
        ("<think>it is 1", NO, NO),
        ("1.", NO, [1]),
        ("**1**", NO, [1]),
        ("１", NO, [1]),
        (r"\boxed{1}", NO, [1]),
        (r"$\boxed{\text{1}}$.", NO, [1]),
        ('"0"', NO, [0]),
        ("10", NO, NO),
        ("1\n0", NO, NO),
        ("The answer is 1", NO, NO),
        ("1 because they agree", NO, NO),
        ("<think></think>", NO, NO),
        ("", NO, NO),
    ],
)
def test_a_label_is_the_whole_reply(text, strict, lenient):
    assert got(parse_label(text, LABELS)) == strict
    outcome = parse_label(text, LABELS, lenient=True)
    assert got(outcome) == lenient
    assert not isinstance(outcome, Verdict) or outcome.flags == (() if strict else ("lenient",))


def test_a_word_label_is_matched_in_other_letter_case_only_where_that_is_clear():
    assert got(parse_label("YES.", {"yes": 1.0, "no": 0.0}, lenient=True)) == [1]
    assert got(parse_label("YES", {"yes": 1.0, "no": 0.0})) is None
    assert got(parse_label("YES", {"yes": 1.0, "Yes": 0.0}, lenient=True)) is None
    assert got(parse_label("this is not yes", {"yes": 1.0, "no": 0.0}, lenient=True)) is None


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("73", [73], [73]),
        ("0", [0], [0]),
        ("-0.0", [0], [0]),
        ("**73.5**", NO, [73.5]),
        ("101", NO, NO),
        ("-1", NO, NO),
        ("73/100", NO, NO),
        ("nan", NO, NO),
        ("about 73", NO, NO),
    ],
)
def test_a_number_is_the_whole_reply_and_within_its_range(text, strict, lenient):
    assert got(parse_number(text, 0, 100)) == strict
    assert got(parse_number(text, 0, 100, lenient=True)) == lenient


PIECES = st.sampled_from(
    (
        *("\\boxed{", "\\\\boxed{", "\\fbox{", "\x08oxed{", "boxed{", "{", "}", "7", "5", "0", "11", "85", "0.5", "-3"),
        *(", ", "，", "；", ";", "**", "\\text{", "nan", "inf", "1_0", "1e5", "８", "Response 1: ", "A: ", "<think>"),
        *("</think>", " ", "\n", "yes", "x", "/10", "%", "[", "]", "(", ")", "\ud800", "\x00"),
    )
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS, st.integers(1, 4), st.sampled_from(["1-10", "0-1"]))
def test_no_text_raises_and_every_verdict_is_whole(text, n, mode):
    strict, lenient = (parse_scores(text, n, mode=mode, lenient=lenient) for lenient in (False, True))
    for outcome in (strict, lenient):
        scores = got(outcome)
        if scores is not None:
            assert len(scores) == n
            assert all(1 <= score <= 10 if mode == "1-10" else score in (0, 1) for score in scores)
        else:
            assert isinstance(outcome, Failure)
            assert outcome.detail
    if isinstance(strict, Verdict):
        assert lenient == strict


@given(TEXTS)
def test_no_text_makes_a_label_of_something_longer(text):
    for outcome in (parse_label(text, LABELS, lenient=True), parse_number(text, 0, 1, lenient=True)):
        assert got(outcome) is None or "0" in text or "1" in text or "０" in text or "１" in text


ADVERSARIAL = (
    *(
        "\\boxed{",
        "\\boxed{7, 5}",
        "{",
        "}",
        "\\",
        "\\text{",
        "<think>",
        "</think>",
        "<think></think>",
        "boxed",
        "*",
        "7,",
    ),
    *("\\boxed{{", "\\boxed ", " ", "(", "\x08oxed{", "1", "，", "I", "\\ "),
)


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_a_megabyte_of_anything_is_read_in_linear_time(unit):
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    for sample in (text, f"\\boxed{{{text}", f"\\boxed{{{text}}}"):
        parse_scores(sample, 2, lenient=True)
        parse_label(sample, LABELS, lenient=True)
    assert time.perf_counter() - started < 20
