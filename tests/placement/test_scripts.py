"""The seeds' run scripts come to the modes and GPU ranges that their page names."""

from __future__ import annotations

from typing import Any

import pytest

from assay.placement import Mode, parse_cluster, place

from . import scripts
from .scripts import flags

EXPECTED: list[tuple[dict[str, Any], str, Mode, dict[str, tuple[int, int]]]] = [
    (scripts.COLOCATED, "1x8xH200", Mode.SPLIT, {"actor": (0, 7), "rollout": (0, 3), "__default__": (4, 7)}),
    (scripts.CO_RESIDENT, "1x8xH200", Mode.CO_RESIDENT, {"actor": (0, 7), "rollout": (0, 7), "__default__": (0, 7)}),
    (scripts.SPLIT_16, "2x8xH200", Mode.SPLIT, {"actor": (0, 15), "rollout": (0, 7), "__default__": (8, 15)}),
    (scripts.DEFER_16, "2x8xH200", Mode.DEFER_SWAP, {"actor": (0, 15), "rollout": (0, 15), "__default__": (0, 15)}),
    (
        scripts.DUAL,
        "1x8xH200",
        Mode.SPLIT,
        {"actor": (0, 7), "rollout": (0, 3), "quality": (4, 5), "safety": (6, 7)},
    ),
    (
        scripts.ASYNC,
        "1x8xH200",
        Mode.FULLY_ASYNC,
        {"actor": (0, 1), "rollout": (2, 4), "reference": (5, 5), "actor_fwd": (6, 6), "__default__": (7, 7)},
    ),
]


@pytest.mark.parametrize(("given", "cluster", "mode", "ranges"), EXPECTED, ids=[str(row[2]) for row in EXPECTED])
def test_a_run_script_has_its_mode_and_its_gpus(
    given: dict[str, Any], cluster: str, mode: Mode, ranges: dict[str, tuple[int, int]]
) -> None:
    plan = place(flags(given), parse_cluster(cluster))
    assert plan.mode == mode
    assert {name: (claim.gpus[0], claim.gpus[-1]) for name, claim in plan.claims.items() if claim.gpus} == ranges
    for claim in plan.claims.values():
        assert list(claim.gpus) == sorted(claim.gpus)


@pytest.mark.skipif(scripts.PAGE is None, reason="needs the page of the seeds beside the checkout")
def test_the_commands_on_the_published_page_come_to_the_same() -> None:
    assert scripts.PAGE is not None
    found = scripts.commands(scripts.PAGE.read_text())
    modes = [place(flags(given), parse_cluster("1x8xH200")) for given in found]
    assert [plan.mode for plan in modes] == [Mode.SPLIT, Mode.CO_RESIDENT, Mode.FULLY_ASYNC, Mode.SPLIT]
    inline = (scripts.COLOCATED, scripts.CO_RESIDENT, scripts.ASYNC, scripts.DUAL)
    for plan, same in zip(modes, inline, strict=True):
        assert plan.claims == place(flags(same), parse_cluster("1x8xH200")).claims


def test_the_engines_of_the_scripts() -> None:
    dual = place(flags(scripts.DUAL), parse_cluster("1x8xH200"))
    assert dual.claims["quality"].engines == ((4, 5),)
    assert dual.claims["rollout"].engines == ((0,), (1,), (2,), (3,))
    assert dual.judges == ("quality", "safety")
    big = place(flags(scripts.SPLIT_16), parse_cluster("2x8xH200"))
    assert big.claims["__default__"].engines == (tuple(range(8, 16)),)


def test_a_role_without_gpus_has_a_bundle_of_its_own() -> None:
    plan = place(flags(scripts.ASYNC), parse_cluster("1x8xH200"))
    assert plan.claims["advantages"].engines == ()
    assert plan.claims["advantages"].bundles == (8,)
    assert plan.bundles == ({"CPU": 1.0, "GPU": 1.0},) * 8 + ({"CPU": 1.0},)
