"""Which way weights go: from facts, and refused early where a way cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.rl.weights.way import WayFacts, pick_way

CARD0, CARD1 = frozenset({"0", "GPU-a"}), frozenset({"1", "GPU-b"})


def sglang(**facts: Any) -> WayFacts:
    given: dict[str, Any] = {"ray": False, "ranks": (CARD0,), "engines": (("0",),), **facts}
    return WayFacts(engine="sglang", **given)


@pytest.mark.parametrize(
    ("facts", "way"),
    [
        (WayFacts(engine="embedded", ray=False, in_process=True), "tensor"),
        (WayFacts(engine="embedded", ray=False), "disk"),
        (WayFacts(engine="fake", ray=False), "disk"),
        (WayFacts(engine="embedded", ray=True), "store"),
        (WayFacts(engine="embedded", ray=True, rereads=True), "disk"),
        (sglang(), "tensor"),
        (sglang(engines=(("GPU-a",),)), "tensor"),
        (sglang(engines=(("0", "1"),)), "tensor"),
        (sglang(engines=(("1",), ("2",))), "nccl"),
        (sglang(engines=(("0",), ("1",))), "disk"),
        (sglang(ranks=(CARD0, CARD1), engines=(("0",), ("1",))), "tensor"),
        (sglang(ranks=(CARD0, CARD1), engines=(("2", "3"),)), "nccl"),
        (sglang(ray=True), "tensor"),
        (sglang(ray=True, ranks=(CARD0, CARD1), engines=(("0",), ("1",))), "tensor"),
        (sglang(ray=True, ranks=(CARD0, CARD1), engines=(("0", "1"),)), "tensor"),
        (sglang(ray=True, engines=(("0", "1"),)), "disk"),
        (sglang(ray=True, ranks=(CARD0, CARD1), engines=(("1", "2"),)), "nccl"),
        (sglang(ray=True, ranks=(CARD0, CARD1), engines=(("8",), ("9",))), "nccl"),
        (sglang(ray=True, ranks=(CARD0, CARD1), engines=(("0",), ("2",))), "disk"),
        (sglang(ranks=()), "disk"),
        (sglang(parallel=("pp_size=2",)), "disk"),
        (sglang(stored_otherwise="experts are stored one by one"), "disk"),
    ],
)
def test_auto_takes_what_fits(facts: WayFacts, way: str) -> None:
    assert pick_way("auto", facts) == way
    assert pick_way("disk", facts) == "disk"


@pytest.mark.parametrize(
    ("asked", "facts", "why"),
    [
        (
            "tensor",
            sglang(engines=(("1",),)),
            "no rank of the trainer is on a card of the engine that has 1.*: nccl",
        ),
        ("tensor", sglang(ray=True, engines=(("0", "1"),)), "no rank of the trainer is on card 1 of the engine that"),
        ("nccl", sglang(), r"a card of the engine that has 0.*two ranks on one card.*what can be here: tensor, disk"),
        ("nccl", sglang(ray=True, engines=(("3",), ("0", "1"))), "a card of the engine that has 0, 1"),
        ("nccl", sglang(ranks=()), "the trainer runs on the CPU"),
        ("nccl", sglang(engines=(("1",),), parallel=("dp_size=2",)), "only without dp_size=2"),
        ("nccl", WayFacts(engine="embedded", ray=True), "embedded engines join no process group"),
        ("tensor", WayFacts(engine="fake", ray=False), "this fake engine is not in the trainer's process"),
        ("store", sglang(ray=True), "SGLang servers do not read Ray's object store"),
        ("store", WayFacts(engine="embedded", ray=False), "without --ray"),
        ("store", WayFacts(engine="embedded", ray=True, rereads=True), "need a folder to wake up from"),
    ],
)
def test_a_way_that_cannot_be_is_refused_with_the_reason_and_what_can(asked: Any, facts: WayFacts, why: str) -> None:
    with pytest.raises(InputError, match=f"--weight-sync {asked}: .*{why}"):
        pick_way(asked, facts)
