"""A task of our own for a small policy: put four digits in ascending order. 6,561 questions, answers by rule. Pure.

Held out is a part of the *answers*: no arrangement of those digits is trained on, so a policy that does well on them
has learned to sort. Owns: questions, the split, and the mistakes that a policy is taught before it learns by reward.
"""

from __future__ import annotations

import random
from itertools import product

from assay.core.seeds import digest

DIGITS = "123456789"
"""Without 0: an answer that began with it would equal, as a number, another one."""
LENGTH = 4
SIGN = ">"
"""Ends a prompt."""
TASK = f"Put the {LENGTH} digits in ascending order, the smallest first."
"""The question as a judge sees it: the same for all, so that equal answers to equal gold are one judgment."""
CHARACTERS = DIGITS + SIGN
"""All that questions and answers are written with."""

_ONE_IN = 16


def answer(digits: str) -> str:
    """The right answer."""
    return "".join(sorted(digits))


def prompt(digits: str) -> str:
    """The question as the policy sees it."""
    return digits + SIGN


def held_out(digits: str) -> bool:
    """Whether the digits, in any order, are kept for evaluation: by the hash of what their answer is."""
    return int(digest(["held-out", answer(digits)]), 16) % _ONE_IN == 0


def questions(*, held: bool) -> tuple[str, ...]:
    """The digits of all questions of one side of the split, in the order of their hashes."""
    every = ("".join(one) for one in product(DIGITS, repeat=LENGTH))
    return tuple(sorted((one for one in every if held_out(one) == held), key=digest))


def mistaken(digits: str, draw: random.Random) -> str:
    """The answer of a poor teacher: one time in four it is right, twice the digits as they stand, once in any order."""
    kind = draw.randrange(4)
    if kind == 0:
        return answer(digits)
    return digits if kind < 3 else "".join(draw.sample(digits, LENGTH))
