"""What a sample and an item come to: the golden cases of eq. 10/11, and that no order of the candidates matters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.codec import completions_to_json
from assay.core.types import Candidate, Completion, Draw, Failure, Item, Message, Verdict
from assay.data import ResultRow
from assay.judges import Judge, build_judge
from assay.spct.fates import Fate, Standing, fate, standing

from .scripted import PAIRWISE, POINTWISE

GOLDEN = Path(__file__).parents[3] / "shared" / "data" / "golden" / "grm_core.json"

R, W, U, C, F = Fate.RIGHT, Fate.WRONG, Fate.UNREADABLE, Fate.CUT_OFF, Fate.FAILED


def said(outcome: str = "verdict", end: str = "stop", **values: object) -> ResultRow:
    completion = {"text": "t", "finish_reason": end}
    return ResultRow(item_id="q", judge="pointwise", outcome=outcome, completions=(completion,), **values)  # type: ignore[arg-type]


@pytest.mark.skipif(not GOLDEN.exists(), reason="the shared golden data are not beside this checkout")
def test_golden_cases_of_eq_11() -> None:
    for case in json.loads(GOLDEN.read_text())["eq11"]:
        scores = case["S"]
        n = 2 if scores is None else len(scores)
        gold = [float(case["gt"])] if "gt" in case else [float(place == case["j"]) for place in range(n)]
        row = said("parse_error", n=n) if scores is None else said(scores=tuple(map(float, scores)), n=n)
        assert (fate(row, gold) is Fate.RIGHT) == (case["r"] == 1), case


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (said(scores=(7.0, 5.0), n=2), R),
        (said(scores=(7.0, 7.0), n=2), W),
        (said(choice=0, n=2), R),
        (said(choice=1, n=2), W),
        (said("parse_error"), U),
        (said("truncated", end="length"), U),
        (said("refused"), U),
        (said(scores=(7.0, 5.0), n=2, end="length"), C),
        (said(scores=(5.0, 7.0), n=2, end="length"), W),
        (said("cancelled", end="abort"), F),
        (replace(said("timeout"), completions=()), F),
        (replace(said("engine_error"), completions=()), F),
    ],
)
def test_fates(row: ResultRow, expected: Fate) -> None:
    assert fate(row, (1.0, 0.0)) is expected


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        ([R, R, R], Standing.TOO_EASY),
        ([R, R, W], Standing.OPEN),
        ([R, R, U], Standing.OPEN),
        ([R, R, C], Standing.OPEN),
        ([W, W, W], Standing.OPEN),
        # A sample that never came says nothing: the item may be too easy.
        ([R, R, F], Standing.UNFINISHED),
        ([F, F, F], Standing.UNFINISHED),
        ([R, W, F], Standing.OPEN),
    ],
)
def test_standings(fates: list[Fate], expected: Standing) -> None:
    assert standing(fates) is expected
    assert standing(fates[::-1]) is expected


@given(data=st.data(), n=st.integers(2, 6))
def test_acceptance_does_not_depend_on_the_order_of_the_candidates(data: st.DataObject, n: int) -> None:
    """The judge likes some texts better than others. In whatever order the item has them, and in whatever order they
    are shown, the same verdict is accepted or rejected."""
    liking = data.draw(st.lists(st.integers(1, 10), min_size=n, max_size=n))
    best = data.draw(st.integers(0, n - 1))
    judge = data.draw(st.sampled_from([POINTWISE, PAIRWISE, build_judge("pointwise", language="zh")]))
    found: set[Fate] = set()
    for _ in range(3):
        texts = data.draw(st.permutations(range(n)))
        order = tuple(data.draw(st.permutations(range(n))))
        asked = Item(
            id="q",
            messages=(Message(role="user", content="?"),),
            candidates=tuple(Candidate(text=str(text)) for text in texts),
            gold=tuple(float(text == best) for text in texts),
        )
        shown = [liking[texts[place]] for place in order]
        if judge is PAIRWISE:
            favourite = min(range(n), key=lambda text: (-liking[text], text))
            box = str([texts[place] for place in order].index(favourite) + 1)
        else:
            box = ", ".join(map(str, shown))
        found.add(_fate(judge, asked, order, f"\\boxed{{{box}}}"))
    right = liking[best] > max(liking[:best] + liking[best + 1 :])
    if judge is PAIRWISE:
        right = min(range(n), key=lambda text: (-liking[text], text)) == best
    assert found == {Fate.RIGHT if right else Fate.WRONG}


def _fate(judge: Judge, asked: Item, order: tuple[int, ...], text: str) -> Fate:
    completion = Completion(request_id="r", text=text)
    outcome = judge.read(asked, Draw(vote=0, seed=0, order=order), [completion])
    assert not isinstance(outcome, Failure)
    assert isinstance(outcome, Verdict)
    row = ResultRow(
        item_id="q",
        judge=judge.name,
        outcome="verdict",
        scores=outcome.scores,
        choice=outcome.choice,
        n=asked.n,
        completions=tuple(completions_to_json([completion])),
    )
    assert asked.gold is not None
    return fate(row, asked.gold)
