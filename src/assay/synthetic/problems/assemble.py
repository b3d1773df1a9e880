"""From a problem to an item: solutions right and wrong, written in several styles, and what a check of each finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ..assembly import build, size_of
from ..draws import Draws, Texts
from ..numerals import plain
from ..record import Candidate, Criterion, Finding, Generated, Shape
from . import held_equations, held_stories, train_equations, train_stories
from .chain import Problem, Solution, solve, spoil
from .train_stories import Family

CRITERIA = {
    "en": (
        Criterion("Correct steps", "every step is called for by the problem and computed rightly", 50),
        Criterion("Correct result", "the result is the right value", 50),
    ),
    "zh": (
        Criterion("步骤正确", "每一步都是题目所要求的，并且计算无误", 50),
        Criterion("结果正确", "最终结果是正确的值", 50),
    ),
}

_ENDS = {
    "en": Texts(
        train=(
            "Answer: {x}",
            "The answer is {x}.",
            "#### {x}",
            "A: {x}",
            "So the result is {x}.",
            "Answer: {x}",
            "Final answer: {x}",
            "\\boxed{{x}}",
            "So the total comes to \\boxed{{x}}.",
            "Therefore **{x}**.",
            "That gives \\boxed{{x}}, as asked.",
        ),
        held=(
            "Answer: {x}",
            "That settles it: {x}.",
            "Result = {x}",
            "Hence the solution is {x}.",
            "We are left with \\boxed{{x}}.",
        ),
    ),
    "zh": Texts(
        train=(
            "答案：{x}",
            "所以答案是{x}。",
            "Answer: {x}",
            "最终结果为{x}。",
            "#### {x}",
            "所以结果为\\boxed{{x}}。",
        ),
        held=("Answer: {x}", "因此结果等于{x}。", "综上可得{x}。", "故为\\boxed{{x}}。"),
    ),
}
_OPENINGS = {
    "en": Texts(
        train=(
            "",
            "",
            "Let us go step by step.",
            "We start with what is given.",
            "Solution:",
            "Working:",
            "Here is my reasoning.",
        ),
        held=("", "Taking one thing after another:", "My notes:"),
    ),
    "zh": Texts(train=("", "", "解：", "逐步计算如下。", "先看已知条件。"), held=("", "演算过程：", "依次计算：")),
}

_SAID = {
    "en": {
        "right": "step {at}: {eq}, right",
        "slip": "step {at}: {eq}, but {due} = {value}: a slip",
        "wrong": "step {at}: {eq}, where {due} = {value} is called for",
        "unfinished": "step {at} is missing: {due} = {value}",
        "good": "it ends in {x}, which is the right value",
        "bad": "it ends in {x}; the right value is {y}",
        "kept": "it ends in {x}, not in the {z} that its steps give; the right value is {y}",
    },
    "zh": {
        "right": "第{at}步：{eq}，正确",
        "slip": "第{at}步：{eq}，但 {due} = {value}，计算有误",
        "wrong": "第{at}步：{eq}，而应当是 {due} = {value}",
        "unfinished": "缺少第{at}步：{due} = {value}",
        "good": "结果是{x}，正确",
        "bad": "结果是{x}；正确的值是{y}",
        "kept": "结果写成{x}，与步骤得到的{z}不符；正确的值是{y}",
    },
}


def word_problem(draws: Draws, shape: Shape) -> Generated:
    """Stories that are solved in two to eight steps."""
    return _make(draws, shape, train_stories.STORIES if draws.side == "train" else held_stories.STORIES)


def equation(draws: Draws, shape: Shape) -> Generated:
    """Equations of one unknown."""
    return _make(draws, shape, train_equations.EQUATIONS if draws.side == "train" else held_equations.EQUATIONS)


def _make(draws: Draws, shape: Shape, families: Sequence[Family]) -> Generated:
    family = draws.pick(families)
    problem = family(draws)
    right = solve(problem)
    size = size_of(draws, shape)
    solutions = [right] if size > 1 or draws.chance(0.5) else []
    answers = {right.answer}
    # A chain of two steps has only so many errors; a second solution with the same wrong value says nothing new.
    for _ in range(60):
        if len(solutions) == size:
            break
        wrong = spoil(draws, problem, right.answer)
        if wrong.answer not in answers:
            answers.add(wrong.answer)
            solutions.append(wrong)
    solutions = draws.shuffled(solutions)
    return build(
        draws,
        shape,
        kind=draws.kind,
        question=problem.question,
        template=f"{draws.kind}.{draws.language}.{draws.side}.{_name(family)}",
        reference=plain(right.answer),
        candidates=[_candidate(draws, problem, solution, right) for solution in solutions],
        criteria=CRITERIA[draws.language],
        normal=(plain(right.answer), *(plain(solution.answer) for solution in solutions)),
    )


def _name(family: Callable[[Draws], Problem]) -> str:
    return family.__name__


def _candidate(draws: Draws, problem: Problem, solution: Solution, right: Solution) -> Candidate:
    gold = float(solution.answer == right.answer)
    findings = (_steps_finding(draws, solution, right), _result_finding(draws, solution, right.answer))
    return Candidate(_written(draws, problem, solution), gold, solution.error or "right", findings)


def _written(draws: Draws, problem: Problem, solution: Solution) -> str:
    _, opening = draws.text(_OPENINGS[draws.language])
    _, end = draws.text(_ENDS[draws.language])
    unit = problem.unit if draws.chance(0.3) else ""
    last = end.replace("{x}", plain(solution.answer) + unit)
    style = draws.between(0, 3)
    if style == 0:
        steps = [f"{at}. {step.said}" for at, step in enumerate(solution.steps, 1)]
    elif style == 1:
        steps = [step.equation for step in solution.steps]
    else:
        steps = [step.said for step in solution.steps]
    if style == 3:
        steps = [(" " if draws.language == "en" else "").join(steps)]
    return "\n".join([*([opening] if opening else []), *steps, last])


def _steps_finding(draws: Draws, solution: Solution, right: Solution) -> Finding:
    words = _SAID[draws.language]
    said: list[str] = []
    for at, step in enumerate(solution.steps):
        if at == solution.at and solution.error in ("operation", "operand"):
            due = words["wrong"].format(at=at + 1, eq=step.equation, due=step.due, value=plain(right.steps[at].result))
        elif step.result != step.computed:
            due = words["slip"].format(at=at + 1, eq=step.equation, due=step.due, value=plain(step.computed))
        else:
            due = words["right"].format(at=at + 1, eq=step.equation)
        said.append(due)
    if solution.error == "unfinished":
        missing = right.steps[-1]
        said.append(words["unfinished"].format(at=len(right.steps), due=missing.due, value=plain(missing.result)))
    return Finding(solution.error in (None, "final"), ("; " if draws.language == "en" else "；").join(said))


def _result_finding(draws: Draws, solution: Solution, truth: Fraction) -> Finding:
    words = _SAID[draws.language]
    if solution.answer == truth:
        return Finding(True, words["good"].format(x=plain(solution.answer)))
    way = "kept" if solution.error == "final" else "bad"
    last = plain(solution.steps[-1].result) if solution.steps else ""
    return Finding(False, words[way].format(x=plain(solution.answer), y=plain(truth), z=last))
