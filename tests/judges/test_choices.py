import math

import pytest

from assay.core.types import Failure, FailureKind, Verdict
from assay.judges.choices import read_choice

LABELS = {"1": 1.0, "0": 0.0}


def test_the_most_probable_label_wins_and_the_mass_is_kept(reply):
    outcome = read_choice(reply("", choice_logprobs=(math.log(0.6), math.log(0.3))), LABELS, 0.1)
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (1.0,)
    assert outcome.mass == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("logprobs", "mass", "kind"),
    [
        ((-5.0, -6.0), None, FailureKind.LOW_MASS),
        ((-0.1, -3.0), 0.05, FailureKind.LOW_MASS),
        ((-0.1, -3.0), math.nan, FailureKind.LOW_MASS),
        ((-math.inf, -math.inf), None, FailureKind.LOW_MASS),
        ((-0.7, -0.7), None, FailureKind.PARSE_ERROR),
        (None, 0.9, FailureKind.ENGINE_ERROR),
        ((-0.1,), 0.9, FailureKind.ENGINE_ERROR),
        ((math.nan, -0.1), 0.9, FailureKind.ENGINE_ERROR),
    ],
)
def test_what_says_nothing_is_a_failure(reply, logprobs, mass, kind):
    outcome = read_choice(reply("", choice_logprobs=logprobs, mass=mass), LABELS, 0.1)
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind


def test_an_impossible_label_may_lose(reply):
    outcome = read_choice(reply("", choice_logprobs=(-math.inf, -0.1)), LABELS, 0.1)
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (0.0,)


def test_no_completion_is_the_fault_of_the_engine():
    outcome = read_choice((), LABELS, 0.1)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE_ERROR
