import random

import pytest

from assay.core.intervals import Interval
from assay.core.types import FailureKind
from assay.report.summary import summarise
from assay.report.words import FAILURES, chance_note, duration, headline, number, percent, span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0 %"),
        (1, "100.0 %"),
        (0.5, "50.0 %"),
        (0.99999, "> 99.9 %"),
        (0.00001, "< 0.1 %"),
        (0.0005, "0.1 %"),
        (0.123456, "12.3 %"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


def test_a_share_that_is_not_quite_nothing_in_whole_percent():
    assert (percent(0.004, 0), percent(0.996, 0), percent(0.5, 0)) == ("< 1 %", "> 99 %", "50 %")


@pytest.mark.parametrize(("value", "text"), [(1234, "1,234"), (7.0, "7"), (0.97312, "0.973"), (1234.5, "1,234")])
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.43, "430 ms"), (0.0068812, "6.88 ms"), (2.3123, "2.31 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_span():
    assert span(Interval(value=0.5, low=0.4567, high=0.5)) == "45.7–50.0"


def test_every_failure_has_its_words():
    assert set(FAILURES) == set(FailureKind)


def judge_of(row, scored):
    return summarise([row(f"q{i}", score, gold) for i, (score, gold) in enumerate(scored)]).judges[0]


def test_a_judge_that_always_says_one_is_at_chance(row):
    judge = judge_of(row, [(1.0, i % 2) for i in range(200)])
    assert chance_note(judge) == "at chance level: its scores are plumbing, not quality"
    assert headline(judge).interval.value == 0.5


def test_noise_is_at_chance_on_any_scale(row):
    draw = random.Random(5)
    judge = judge_of(row, [(draw.randint(1, 10), i % 2) for i in range(400)])
    assert headline(judge).name == "AUC"
    assert chance_note(judge).startswith("at chance level")


def test_few_judgments_say_only_that_they_are_few(row):
    assert chance_note(judge_of(row, [(1, 1), (0, 0), (1, 0), (0, 1)])) == (
        "cannot be told from chance with so few judgments"
    )


def test_a_judge_that_knows_something_needs_no_note(row):
    assert chance_note(judge_of(row, [(i % 2, i % 2) for i in range(100)])) is None
    # Accepts everything, and still scores the right ones higher: a threshold to move, not noise.
    assert chance_note(judge_of(row, [(0.6 + 0.3 * (i % 2), i % 2) for i in range(100)])) is None


def test_swapped_labels_are_named(row):
    assert chance_note(judge_of(row, [(1 - i % 2, i % 2) for i in range(100)])).startswith("worse than chance")


def test_rankings_are_held_against_their_own_chance(row):
    def judge(hits):
        scores = [[9, 1, 1, 1] if i < hits else [1, 9, 1, 1] for i in range(100)]
        return summarise([row(f"q{i}", s, [1, 0, 0, 0]) for i, s in enumerate(scores)]).judges[0]

    assert headline(judge(25)).chance == 0.25
    assert chance_note(judge(25)).startswith("at chance level")
    assert chance_note(judge(50)) is None


def test_without_gold_nothing_is_said(row):
    judge = judge_of(row, [(1.0, None), (0.0, None)])
    assert (headline(judge), chance_note(judge)) == (None, None)
