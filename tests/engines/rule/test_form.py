import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.engines.rule.form import Sort, normal_text, read_form, same_text
from assay.engines.rule.units import UNITS, unit_name


@pytest.mark.parametrize(
    ("answer", "sort", "math", "unit"),
    [
        ("18", "expression", "18", ""),
        ("$18$", "expression", "18", ""),
        (r"\boxed{18}.", "expression", "18", ""),
        ("**18**", "expression", "18", ""),
        ("The final answer is: 18.", "expression", "18", ""),
        ("-1,234.5", "expression", "-1234.5", ""),
        ("x^2+1", "expression", "x^2+1", ""),
        ("p - q", "expression", "p - q", ""),
        ("2xy", "expression", "2xy", ""),
        ("3R^2", "expression", "3R^2", ""),
        ("C", "expression", "C", ""),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "expression", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", ""),
        ("1 1/2", "expression", r"\frac{3}{2}", ""),
        ("-2½", "expression", r"-\frac{5}{2}", ""),
        (r"0.1\overline{6}", "expression", r"\frac{15}{90}", ""),
        ("1.5e3", "expression", r"1.5 \cdot 10^{3}", ""),
        ("$18", "quantity", "18", "dollar"),
        ("18 dollars per day", "quantity", "18", "dollar"),
        ("5km", "quantity", "5", "kilometer"),
        ("5 m", "quantity", "5", "meter"),
        ("18元", "quantity", "18", "yuan"),
        (r"90^\circ", "quantity", "90", "degree"),
        (r"864 \mbox{ inches}^2", "quantity", "864", "inch^2"),
        (r"10\%", "expression", "10%", ""),
        ("10 percent", "expression", "10%", ""),
        ("2024-03-01", "text", "", ""),
        ("3:15 pm", "text", "", ""),
        ("1011_2", "text", "", ""),
        ("no", "text", "", ""),
        (r"\text{Evelyn}", "text", "", ""),
        ("周日", "text", "", ""),
        ("", "text", "", ""),
        ("3 hours 20 minutes", "prose", "", ""),
        ("about 17 or 18 people", "prose", "", ""),
    ],
)
def test_forms(answer: str, sort: Sort, math: str, unit: str) -> None:
    form = read_form(answer)
    assert (form.sort, form.math, form.unit) == (sort, math, unit)


def test_normal_text_drops_only_what_carries_no_meaning() -> None:
    assert normal_text(" x  +  1 . ") == "x+1"
    assert normal_text("1,080") == "1080"
    assert normal_text("1,08") == "1,08"
    assert normal_text("1 1/2") == "1 1/2"
    assert normal_text("New  York.") == "New York"


def test_same_text_ignores_case_quotes_and_the_brackets_of_a_label() -> None:
    assert same_text("(B)", "b")
    assert same_text("“Yes”", "yes")
    assert not same_text("", "")
    assert not same_text("A", "B")


def test_units_have_one_name() -> None:
    assert unit_name("Feet") == unit_name("ft") == "foot"
    assert unit_name("apples") == "apple"
    assert unit_name("") == ""
    assert all(UNITS[name] == name for name in UNITS.values())


@settings(deadline=None)
@given(st.text() | st.text(alphabet="0123456789 $\\{}()^_,./-+=abcmx\\boxed√°", max_size=400))
@example("^" + " " * 400)
@example("\\(" * 200)
@example("$" + "{" * 399)
@example("1" + " " * 398 + "/")
def test_any_text_has_a_form_at_once(answer: str) -> None:
    begin = time.process_time()
    form = read_form(answer)
    assert time.process_time() - begin < 0.5
    assert bool(form.math) == (form.sort in ("expression", "quantity"))
