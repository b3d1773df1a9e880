"""100,000 random texts through every parser: no exception, no score without n finite numbers on the scale."""

import json
import math
import random
from pathlib import Path

import pytest

from assay.core.types import Failure, Outcome, Verdict
from assay.judges.scores import parse_label, parse_number, parse_scores

TEXTS = 100_000
CASES = Path(__file__).parent / "golden/parser_cases.jsonl"
GOLDEN = [json.loads(line)["text"] for line in CASES.read_text("utf-8").splitlines()]
WORDS = r"""
\boxed{ \\boxed{ \fbox{ \framebox{ boxed{ { } 7 5 0 1 10 11 85 100 0.5 8.5 -3 , ; : nan inf -inf 1_0 1e5 1e400 8/10
80% ** \text{ \frac{1}{2} Response A: N/A x <think> </think> [ ] ( ) $ $$ \ | 、 ， ； ： ８ ６ ｛ ｝ 分数： 评分 sorry
"""
ODD = [" ", "\n", "\t", "\x00", "\x08oxed{", "\x0cbox{", "\ud800", "\u202e", "\u200b", "Response 1: ", "\U0001f600"]
PIECES = [*WORDS.split(), *ODD]


def make_text(random: random.Random) -> str:
    kind = random.randrange(4)
    if kind == 0:
        return "".join(random.choices(PIECES, k=random.randrange(60)))
    if kind == 1:
        return "".join(chr(random.randrange(1, 0x3000)) for _ in range(random.randrange(80)))
    text = random.choice(GOLDEN)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(text) + 1)
        text = text[:at] + (random.choice(PIECES) if kind == 2 else "") + text[at + random.randrange(3) :]
    return text


def check(outcome: Outcome, n: int, low: float, high: float) -> bool:
    if isinstance(outcome, Failure):
        assert outcome.detail
        return False
    assert isinstance(outcome, Verdict)
    assert outcome.scores is not None
    assert len(outcome.scores) == n
    assert all(math.isfinite(score) and low <= score <= high for score in outcome.scores)
    return True


def fuzz(texts: int, seed: int) -> int:
    """How many of the readings found a verdict."""
    source = random.Random(seed)
    found = 0
    for _ in range(texts):
        text, n, lenient = make_text(source), source.randrange(1, 4), source.random() < 0.5
        found += check(parse_scores(text, n, lenient=lenient), n, 1, 10)
        found += check(parse_scores(text, 1, mode="0-1", lenient=lenient), 1, 0, 1)
        found += check(parse_label(text, {"1": 1.0, "0": 0.0}, lenient=lenient), 1, 0, 1)
        found += check(parse_number(text, 0, 100, lenient=lenient), 1, 0, 100)
    return found


def test_a_few_thousand_texts():
    assert fuzz(3000, seed=1) > 30


@pytest.mark.slow
def test_a_hundred_thousand_texts():
    assert fuzz(TEXTS, seed=2) > 1000
