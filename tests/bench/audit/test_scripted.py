"""Whole audits of judges whose behaviour is known: each bias shows where it is, and only there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench.audit.card import Card
from assay.bench.audit.plan import AuditPlan
from assay.core.types import Request
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge

from .scripted import always_first, audited, best, decorated, engine, figure, longest, pairs, silent


def absent(card: Card, section: str) -> str | None:
    return next(one.absent for one in card.sections if one.name == section)


def findings(card: Card, section: str) -> tuple[str, ...]:
    return next(one.findings for one in card.sections if one.name == section)


def test_a_judge_that_takes_the_first_place(tmp_path: Path) -> None:
    card = audited(tmp_path, lambda: engine(always_first), pairs())
    changed = figure(card, "order", "verdict changes with the order")
    assert (changed.value, changed.hits, changed.n, changed.failed) == (1.0, 40, 40, 0)
    assert figure(card, "order", "of these, for the first place").value == 1.0
    assert figure(card, "order", "right, better answer first").value == 1.0
    assert figure(card, "order", "right, better answer last").value == 0.0
    assert figure(card, "order", "right in both orders").value == 0.0
    assert "it is the first place that wins" in findings(card, "order")[0]
    # It stands by its place: what the answers look like changes nothing, and it repeats itself.
    assert figure(card, "length", "lost to filler").value == 0.0
    assert findings(card, "length") == findings(card, "style") == ()
    assert figure(card, "repeats", "the same verdict every time").value == 1.0
    # The order of the candidates is drawn, so that gold standing first in the file helps nobody.
    right = figure(card, "agreement", "right").value
    assert right is not None
    assert 0.25 < right < 0.75


def test_a_judge_that_knows(tmp_path: Path) -> None:
    card = audited(tmp_path, lambda: engine(best), pairs())
    assert figure(card, "agreement", "right").value == 1.0
    assert figure(card, "agreement", "kappa with gold").value == 1.0
    assert figure(card, "order", "verdict changes with the order").value == 0.0
    assert figure(card, "length", "right, both equally long").value == 1.0
    assert figure(card, "length", "right, the worse longer").value == 1.0
    assert figure(card, "style", "right, the worse dressed up").value == 1.0
    assert figure(card, "attacks", "accepted").value == 0.0
    assert card.findings == []
    assert absent(card, "calibration") == "verdicts name the better answer and say no more"
    assert absent(card, "self_preference") == "no pair has one answer by the judge; authors: none is named"


def test_a_judge_that_loves_length(tmp_path: Path) -> None:
    card = audited(tmp_path, lambda: engine(longest), pairs())
    assert figure(card, "order", "verdict changes with the order").value == 0.0
    assert figure(card, "length", "prefers the longer answer").value == 1.0
    assert figure(card, "length", "gold prefers the longer answer").value == 0.5
    assert figure(card, "length", "right, better answer longer").value == 1.0
    assert figure(card, "length", "right, worse answer longer").value == 0.0
    assert figure(card, "length", "right, the worse longer").value == 0.0
    between = figure(card, "length", "between the two")
    assert (between.value, between.n) == (1.0, 40)
    assert findings(card, "length") == ("filler turns right verdicts round: a policy would learn to write more",)


def test_a_judge_that_loves_markup(tmp_path: Path) -> None:
    card = audited(tmp_path, lambda: engine(decorated), pairs())
    assert figure(card, "agreement", "right").value == 1.0
    assert figure(card, "style", "right, the worse dressed up").value == 0.0
    assert findings(card, "style") == ("markup turns right verdicts round: a policy would learn to decorate",)


def test_a_judge_that_favours_its_own(tmp_path: Path) -> None:
    # The author is not shown, but the right answers of the own model are the odd ones of each four.
    items = pairs(own="org/Scripted")
    card = audited(tmp_path, lambda: engine(best), items, own=("scripted",))
    gap = figure(card, "self_preference", "self-preference, between the two")
    assert (gap.value, gap.n) == (0.0, 40)
    assert figure(card, "self_preference", "prefers its own answer").value == 0.5
    mine = {one.text for item in items for one in item.candidates if one.author == "org/Scripted"}

    def own(answers: list[str]) -> int | None:
        return next(place for place, answer in enumerate(answers) if answer in mine or place == 1)

    biased = audited(tmp_path / "own", lambda: engine(own), items, own=("scripted",), plan=AuditPlan(parts=("order",)))
    gap = figure(biased, "self_preference", "self-preference, between the two")
    assert gap.value == 1.0
    assert figure(biased, "self_preference", "right, other's answer better").value == 0.0
    assert findings(biased, "self_preference")


def test_a_judge_that_never_answers_has_no_figures(tmp_path: Path) -> None:
    card = audited(tmp_path, lambda: engine(silent), pairs(8))
    assert sum(card.failures.values()) == card.judgments > 0
    for section in card.sections:
        for one in section.figures:
            assert one.value is None or one.name in (
                "gold prefers the longer answer",
                "sometimes a verdict, sometimes none",
            )
    assert figure(card, "order", "verdict changes with the order").failed == 8
    assert figure(card, "attacks", "accepted").failed == 92
    assert figure(card, "agreement", "right").failed == 8


def test_a_judge_that_does_not_repeat_itself(tmp_path: Path) -> None:
    turn: Iterator[int] = iter(range(10_000))

    def fickle() -> FakeEngine:
        return engine(lambda answers: next(turn) % 2)

    card = audited(tmp_path, fickle, pairs(20), plan=AuditPlan(parts=("repeats",), repeat_items=20))
    same = figure(card, "repeats", "the same verdict every time")
    assert (same.value, same.n) == (0.0, 20)
    assert findings(card, "repeats")


def test_a_judge_that_looks_at_one_answer_at_a_time(tmp_path: Path) -> None:
    made = [replace(item, reference="RIGHT.") for item in pairs(20)]

    def reply(request: Request, index: int) -> str:
        text = str(request.prompt)
        return "1" if "[[answer " in text and "RIGHT. It" in text else "0"

    card = audited(tmp_path, lambda: FakeEngine(reply=reply), made, judge=build_judge("verifier"))
    assert absent(card, "order") == "the judge looks at one answer at a time: there is no order to depend on"
    assert figure(card, "agreement", "right answers accepted").value == 1.0
    assert figure(card, "agreement", "wrong answers refused").hits == 20
    assert figure(card, "attacks", "accepted").value == 0.0
    assert figure(card, "calibration", "calibration error (ECE)").value == 0.0
    assert figure(card, "calibration", "Brier score").blind == pytest.approx(0.25)


def test_an_audit_goes_on_where_it_stopped_and_its_card_is_the_same(tmp_path: Path) -> None:
    first = audited(tmp_path, lambda: engine(longest), pairs(12))
    calls: list[int] = []

    def counted() -> FakeEngine:
        return engine(lambda answers: calls.append(1) or 0)

    assert audited(tmp_path, counted, pairs(12)) == first
    assert calls == []
    turned = audited(tmp_path / "turned", lambda: engine(longest), pairs(12)[::-1])
    assert turned.sections == first.sections, "the order of records changes nothing"
