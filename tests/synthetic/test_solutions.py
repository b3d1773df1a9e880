"""Solutions around an answer: what they end in, what they meet on the way, and that the two sides share no sentence."""

import re

from assay.judges.extract import TAIL, final_answer
from assay.synthetic import frames, solutions
from assay.synthetic.answers import asked, calendar, fact, fraction
from assay.synthetic.draws import Draws, Texts
from assay.synthetic.kinds import KINDS, kinds_named
from assay.synthetic.stream import Plan, generate, stream

from .readings import inner


def draws(index, language="en", side="train", kind="integer"):
    return Draws(kind=kind, side=side, language=language, shape="single", seed=0, index=index)


def test_a_solution_ends_in_its_answer_and_meets_the_lure():
    met = 0
    for index in range(400):
        language, side = ("en", "zh")[index % 2], ("train", "held")[index // 2 % 2]
        text = solutions.solution(draws(index, language, side), "37", "37", ("42", "42"))
        assert inner(text) == "37", text
        assert "37" in text.splitlines()[-1], text
        met += "42" in text
    assert 100 < met < 390


def test_boxes_hold_latex_and_units_stand_inside_or_behind():
    def boxes(text, kind):
        return {solutions.boxed(draws(index, kind=kind), text) for index in range(60)}

    assert {"\\boxed{5{,}050}", "\\boxed{5,050}"} == boxes("5,050", "integer")
    assert boxes("{2, 4}", "set") == {"\\boxed{\\{2, 4\\}}"}
    assert boxes("(3, ∞)", "interval") == {"\\boxed{(3, \\infty)}"}
    assert boxes("25%", "percent") == {"\\boxed{25\\%}"}
    assert boxes("\\frac15 公顷", "units") == {"\\boxed{\\frac15} 公顷", "\\boxed{\\frac15 \\text{ 公顷}}"}
    assert {"\\boxed{\\frac15}", "\\boxed{\\dfrac{1}{5}}", "\\boxed{1/5}"} <= boxes("1/5", "fraction")
    assert boxes("\\boxed{4}", "integer") == {"\\boxed{4}"}


def test_wrong_answers_come_with_the_reference_on_the_way_and_right_ones_with_a_wrong_value():
    """A reference within the text says nothing about gold: it is what the model read off."""
    seen = {0: 0, 1: 0}
    for generated in stream(Plan(kinds=kinds_named(["integer"]), shapes=("single",)), 0, 3000):
        shown, reference = final_answer(generated.item.candidates[0].text), generated.item.reference.strip("$")
        numbers = re.findall(r"-?\d[\d,{}]*", shown)
        if len(numbers) > 2 and generated.forms[0] != "hedge":
            gold = int(generated.gold[0])
            if gold:
                seen[1] += any(one.replace(",", "") != reference.replace(",", "") for one in numbers[:-1])
            else:
                seen[0] += reference in numbers
    assert seen[0] > 60
    assert seen[1] > 100


def test_most_solutions_are_shown_whole():
    texts = [
        g.item.candidates[0].text for g in stream(Plan(kinds=kinds_named(["answers"]), shapes=("single",)), 0, 3000)
    ]
    assert sum(len(text) > TAIL for text in texts) < 150


def test_mixed_numbers_become_one_fraction():
    """``1 3/4 = (1 x 4 + 3)/4 = 7/4`` in every one of them: the sum is always carried out."""
    found = 0
    for side in ("train", "held"):
        for generated in stream(Plan(kinds=(KINDS["fraction"],), side=side, shapes=("several",)), 0, 1500):
            for line in generated.normal:
                if " x " in line:
                    sign, whole, above, below, middle, last = re.fullmatch(
                        r"(-?)(\d+) (\d+)/(\d+) = (-?\(.*\)/\d+) = (-?\d+/\d+)", line
                    ).groups()
                    assert middle == f"{sign}({whole} x {below} + {above})/{below}"
                    assert last == f"{sign}{int(whole) * int(below) + int(above)}/{below}"
                    found += 1
    assert found > 1000


def test_wrong_mixed_numbers_are_as_common_as_right_ones():
    right = wrong = 0
    for generated in stream(Plan(kinds=(KINDS["fraction"],), shapes=("single",)), 0, 4000):
        if " x " in generated.normal[1]:
            right += generated.gold[0] == 1
            wrong += generated.gold[0] == 0
    assert min(right, wrong) > 200
    assert 0.4 < right / (right + wrong) < 0.65


def test_no_sentence_is_on_both_sides():
    tables = [frames.HEDGES, solutions.CLOSINGS, solutions.SUMS, solutions.STEPS, solutions.LURES, solutions.TALK]
    tables += [
        value for module in (asked, calendar, fact, fraction) for name, value in vars(module).items() if "ASKS" in name
    ]
    tables.append(fact._ROLES)  # pyright: ignore[reportPrivateUsage]
    for table in tables:
        for texts in table.values():
            assert isinstance(texts, Texts)
            shared = set(texts.train) & set(texts.held)
            assert not shared, shared


def test_small_shares_of_the_new_forms_are_there():
    forms = {
        "integer": {"power", "product", "grouped, latex"},
        "decimal": {"fraction, latex"},
        "set": {"latex braces", "close", "named", "plus or minus"},
        "algebra": {"factored", "factored, other order", "common factor"},
        "fact": {"family name", "by-name", "subscripts", "letter missing", "letter too many"},
    }
    for name, wanted in forms.items():
        seen = {form for g in stream(Plan(kinds=(KINDS[name],), shapes=("several",)), 0, 1500) for form in g.forms}
        assert wanted <= seen, (name, wanted - seen)


def test_sets_have_up_to_nine_elements_in_order_of_value():
    sizes = set()
    for seed in range(600):
        generated = generate(KINDS["set"], seed=seed)
        elements = generated.normal[0].strip("{}").split(", ")
        sizes.add(len(elements))
        if all(one.lstrip("-").isdecimal() for one in elements):
            assert elements == [str(one) for one in sorted(map(int, elements))]
    assert sizes == set(range(2, 10))
