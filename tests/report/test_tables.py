import io

from rich.console import Console

from assay.report.summary import summarise
from assay.report.tables import print_summary


def printed(rows, width=100, **more):
    console = Console(file=io.StringIO(), width=width)
    print_summary(console, summarise(rows, **more))
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_one_judge(row):
    rows = [row(f"q{i}", i % 2, i % 2, calls=1, prompt_tokens=50, metadata={"t": "xy"[i < 4]}) for i in range(8)]
    rows += [row("f", outcome="parse_error", gold=1, calls=1)]
    lines = printed(rows, seconds=2.0)
    assert "judgments 9" in lines
    assert "verdicts 8 88.9 %" in lines
    assert "parse_error 1" in lines
    assert "agreement with gold 100.0 % 8 of 8" in lines
    assert "right ones accepted 100.0 % 4 of 4" in lines
    assert any(line.startswith("AUC 1.000 0.") and line.endswith("–1.000") for line in lines)
    assert "tokens read 400" in lines
    assert "4.5 judgments/s over 2 s; tokens/s: 200 read, 0 written" in lines
    # Wilson's lower limit of 2 of 2 is 2 / (2 + 1.96^2) = 0.342; two distances of 0.658 give 1 - 0.658 / sqrt(2).
    assert "x 4 100.0 % 53.5–100.0" in lines
    assert not any("judge calls saved" in line or "best on top" in line for line in lines)


def test_judges_stand_side_by_side_with_the_failures_of_each(row):
    rows = [row(f"q{i}", 1.0, i % 2, judge="yes", calls=1) for i in range(100)]
    rows += [row(f"q{i}", i % 2, i % 2, judge="math", calls=i % 2, cached=i % 2 == 0) for i in range(98)]
    rows += [row(f"q{i}", gold=1, judge="math", outcome="timeout", calls=1) for i in (98, 99)]
    lines = printed(rows)
    assert lines[0] == "yes math"
    assert "verdicts 100 100.0 % 98 98.0 %" in lines
    assert "timeout 2" in lines
    assert "judge calls saved 49.0 %" in lines  # 49 of 100: the two that failed saved nothing
    assert lines[-1] == "yes: at chance level: its scores are plumbing, not quality"


def test_names_from_outside_are_not_markup(row):
    lines = printed([row("a", 1, 1, judge="[red]x[/]", model="[b]", outcome="verdict")])
    assert lines[0] == "[red]x[/] · [b]"


def test_an_empty_run_prints_nothing_that_misleads():
    assert all("%" not in line for line in printed([]))
