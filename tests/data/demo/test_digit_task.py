from __future__ import annotations

import random
from collections import Counter

from assay.data.demo.digit_task import CHARACTERS, answer, held_out, mistaken, prompt, questions


def test_the_split_is_whole_and_no_held_out_answer_is_ever_trained_on() -> None:
    train, held = questions(held=False), questions(held=True)
    assert len(train) + len(held) == 9**4 == len({*train, *held})
    assert len(train) > 5000
    assert len(held) > 200
    assert not {answer(one) for one in train} & {answer(one) for one in held}
    assert held_out("3172") == held_out("1237") == held_out("7231")


def test_questions_stand_in_the_same_order_every_time_and_not_in_that_of_their_digits() -> None:
    assert questions(held=True) == questions(held=True)
    assert list(questions(held=True)) != sorted(questions(held=True))


def test_answers() -> None:
    assert answer("3172") == "1237"
    assert answer("9119") == "1199"
    assert set(prompt("3172")) <= set(CHARACTERS)


def test_the_teacher_is_wrong_three_times_out_of_four() -> None:
    draw = random.Random(0)
    said = Counter(mistaken("4213", draw) for _ in range(4000))
    # A quarter is sorted on purpose, and one in 24 of the shuffled quarter by chance: 0.2604. As they stand: 0.5104.
    assert abs(said["1234"] / 4000 - 0.2604) < 0.03
    assert abs(said["4213"] / 4000 - 0.5104) < 0.03
    assert all(sorted(one) == list("1234") for one in said)
