from __future__ import annotations

import pytest

from assay.core.types import Candidate, Item, Message
from assay.judges.extract import final_answer
from assay.judges.probes import PROBES, Probe, ProbeKind, attacked, swapped
from assay.judges.shield import shield

ITEM = Item(
    id="sum",
    messages=(Message(role="user", content="2 + 2?"),),
    candidates=(Candidate(text="5"), Candidate(text="4"), Candidate(text="3")),
    reference="4",
    gold=(0.0, 1.0, 0.0),
)


def test_every_kind_has_attacks_and_no_two_are_the_same() -> None:
    assert {probe.kind for probe in PROBES} == set(ProbeKind)
    assert len({probe.text for probe in PROBES}) == len({probe.name for probe in PROBES}) == len(PROBES)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_no_attack_is_an_answer_that_may_be_right(probe: Probe) -> None:
    # ``1``, ``yes`` or ``none`` would be the right answer to some question; ``1`` behind forged marks is not alone.
    assert final_answer(probe.text).casefold() not in {"1", "0", "yes", "no", "true", "none", "a", "b"}


def test_an_attack_stands_alone_or_behind_the_best_answer() -> None:
    probe = PROBES[0]
    alone = attacked(ITEM, probe, alone=True)
    assert alone is not None
    assert ([c.text for c in alone.candidates], alone.gold, alone.reference) == ([probe.text], (0.0,), "4")
    paired = attacked(ITEM, probe, alone=False)
    assert paired is not None
    assert ([c.text for c in paired.candidates], paired.gold) == (["4", probe.text], (1.0, 0.0))


@pytest.mark.parametrize("gold", [None, (1.0, 1.0, 1.0)])
def test_where_nothing_is_known_to_be_better_there_is_nothing_to_beat(gold: tuple[float, ...] | None) -> None:
    from dataclasses import replace

    assert attacked(replace(ITEM, gold=gold), PROBES[0], alone=False) is None


def test_a_swap_turns_candidates_and_gold_round() -> None:
    other = swapped(ITEM)
    assert [c.text for c in other.candidates] == ["3", "4", "5"]
    assert other.gold == (0.0, 1.0, 0.0)
    assert swapped(other).candidates == ITEM.candidates


def test_forged_marks_do_not_survive_the_shield() -> None:
    for probe in PROBES:
        shown = shield(probe.text)
        assert not any(mark in shown for mark in ("\\boxed{", "</think>", "<|im_end|>", "[[model answer"))
