import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judges.notation import ANY_BOX, STRICT_BOX, bare, closed_boxes, last_box, number, plain


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7.0), ("-3", -3.0), ("+7", 7.0), ("8.25", 8.25), ("007", 7.0), ("123456789012345", 123456789012345.0)],
)
def test_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nan",
        "inf",
        "-inf",
        "1_0",
        "1e5",
        "5.",
        ".5",
        "８",
        "٧",
        "0x7",
        " 7",
        "7\n",
        "--7",
        "7,0",
        "1/2",
        "1" * 16,
        "²",
    ],
)
def test_what_is_no_number(text):
    assert number(text) is None


def test_the_last_box_is_the_one_that_opens_last():
    assert last_box(r"\boxed{1} \boxed{2}").content == "2"
    assert last_box(r"\boxed{1} \boxed{2}").count == 2
    assert last_box(r"\boxed{a{b}c}").content == "a{b}c"
    assert last_box(r"\boxed{1} \boxed{2").content is None
    assert last_box("no box") is None
    assert last_box(r"\fbox{1}") is None
    assert last_box(r"\fbox{1}", ANY_BOX).content == "1"


@given(st.text("\\boxed{}1 ", max_size=40))
def test_closed_boxes_agree_with_the_last_box(text):
    box = last_box(text, STRICT_BOX)
    closed = list(closed_boxes(text, STRICT_BOX))
    if box is not None and box.content is not None:
        assert box.content in closed
    assert len(closed) <= (0 if box is None else box.count)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**7**", "7"),
        (" [7, 5] ", "7, 5"),
        ("(a)(b)", "(a)(b)"),
        ("((a))", "a"),
        ("$x$, $y$", "$x$, $y$"),
        ("$x$", "x"),
        ("", ""),
        ("*", ""),
        ("''", ""),
    ],
)
def test_bare(text, expected):
    assert bare(text) == expected


def test_plain_unwraps_nested_commands():
    assert plain(r"\text{\textbf{7}},\,\mathrm{5}") == "7, 5"
