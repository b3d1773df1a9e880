"""The layouts of the benchmark for eight cards are legal and the seeds'; what the cards did is read off nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.eight_gpus.cards import Seen, read
from benchmarks.eight_gpus.layouts import LAYOUTS, settings
from benchmarks.eight_gpus.run import agreement

from assay.placement import PlacementFlags, parse_cluster, place

MODES = {
    "split": "split",
    "two-judges": "split",
    "co-resident": "co-resident",
    "defer-swap": "defer-swap",
    "fully-async": "fully-async",
}


@pytest.mark.parametrize("cards", [4, 8])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_legal_and_in_its_mode(layout: str, cards: int) -> None:
    said = settings(layout, cards, data=Path("d"), run=Path("r"), policy="p", judge="j", steps=2)
    flags = PlacementFlags(**{name: value for name, value in said.items() if name in PlacementFlags.model_fields})
    plan = place(flags, parse_cluster(f"1x{cards}xH200"))
    assert plan.mode.value == MODES[layout]
    assert sorted({gpu for claim in plan.claims.values() for gpu in claim.gpus}) == list(range(cards))


def test_eight_cards_are_shared_out_as_in_the_seeds() -> None:
    def places(layout: str) -> dict[str, tuple[int, ...]]:
        said = settings(layout, 8, data=Path("d"), run=Path("r"), policy="p", judge="j", steps=2)
        flags = PlacementFlags(**{name: value for name, value in said.items() if name in PlacementFlags.model_fields})
        return {name: claim.gpus for name, claim in place(flags, parse_cluster("1x8xH200")).claims.items()}

    split = places("split")
    assert (split["rollout"], split["__default__"]) == ((0, 1, 2, 3), (4, 5, 6, 7))
    two = places("two-judges")
    assert (two["rollout"], two["quality"], two["safety"]) == ((0, 1, 2, 3), (4, 5), (6, 7))
    assert [len(gpus) for gpus in places("fully-async").values()] == [2, 3, 1, 1, 1]


def test_readings_of_the_cards_are_of_the_last_part_of_a_run() -> None:
    lines = [
        "2026/01/01 10:00:00.000, 0, 0, 10",
        "2026/01/01 10:00:00.000, 1, 90, 500",
        "2026/01/01 10:00:00.500, 0, 80, 900",
        "2026/01/01 10:00:00.500, 1, 3, 700",
        "garbage",
        "2026/01/01 10:00:01.000, 0, 0, 400",
        "2026/01/01 10:00:01.000, 1, [N/A], 700",
    ]
    assert read("\n".join(lines)) == {0: Seen(idle=2 / 3, most=900, least=10), 1: Seen(idle=0.5, most=700, least=500)}
    assert read("\n".join(lines), share=0.5)[0] == Seen(idle=0.5, most=900, least=400)
    assert read("") == {}


def test_layouts_that_differ_are_told() -> None:
    steps = {
        "split": [{"reward/mean": 0.2, "train/loss": 0.1}],
        "co-resident": [{"reward/mean": 0.23, "train/loss": 0.1}],
    }
    assert "reward/mean differ by 0.03" in agreement(steps)
    assert "within" in agreement(steps)
    steps["defer-swap"] = [{"reward/mean": 0.4, "train/loss": 0.1}]
    assert "BEYOND" in agreement(steps)
    assert agreement({"split": [{"reward/mean": 0.2}]}) == ""
